#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/einsum_internal.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/trace_testing.h"

namespace tessera {
namespace {

using linear_internal::EinsumTerm;
using linear_internal::parse_einsum;
using testing::count;
using ::testing::HasSubstr;
using testing::message_of;

// einsum over fresh f32 parameters of these shapes.
Value trace_einsum(Graph& g, std::string_view equation, const std::vector<Dims>& shapes) {
  std::vector<Value> operands;
  for (const Dims& dims : shapes) operands.push_back(g.parameter({DType::kF32, dims}));
  return einsum(equation, operands);
}

std::string einsum_error(std::string_view equation, const std::vector<Dims>& shapes) {
  Graph g;
  return message_of([&] { trace_einsum(g, equation, shapes); });
}

TEST(ParseEinsum, ReadsTermsEllipsesAndSpaces) {
  const auto parsed = parse_einsum(" b t d , ...D -> b...D");
  ASSERT_EQ(parsed.operands.size(), 2u);
  EXPECT_EQ(parsed.operands[0], (EinsumTerm{"btd", -1}));
  EXPECT_EQ(parsed.operands[1], (EinsumTerm{"D", 0}));
  EXPECT_EQ(parsed.result, (EinsumTerm{"bD", 1}));
  EXPECT_EQ(parse_einsum("i,->i").operands[1], EinsumTerm{});
}

TEST(ParseEinsum, ErrorsQuoteTheEquation) {
  EXPECT_EQ(message_of([] { parse_einsum("ij,jk"); }),
            "[einsum] \"ij,jk\" has no `->`: write the result's letters after one");
  EXPECT_THAT(message_of([] { parse_einsum("i2->i"); }), HasSubstr("'2' at place 1 is no letter"));
  EXPECT_THAT(message_of([] { parse_einsum("i..->i"); }), HasSubstr("'.' at place 1"));
  EXPECT_THAT(message_of([] { parse_einsum("...i...->i..."); }), HasSubstr("'.' at place 4"));
  EXPECT_THAT(message_of([] { parse_einsum("ij->ii"); }), HasSubstr("letter i stands twice"));
  EXPECT_THAT(message_of([] { parse_einsum("ij->ik"); }),
              HasSubstr("letter k after the arrow is in no operand"));
  EXPECT_THAT(message_of([] { parse_einsum("...i->i"); }), HasSubstr("both sides"));
}

TEST(Einsum, GivesTheShapeOfTheResultsLetters) {
  struct Case {
    std::string_view equation;
    std::vector<Dims> shapes;
    Dims result;
  };
  const Case cases[] = {
      {"btd,df->btf", {{2, 3, 4}, {4, 5}}, {2, 3, 5}},
      {"bthd,bshd->bhts", {{2, 3, 4, 5}, {2, 6, 4, 5}}, {2, 4, 3, 6}},
      {"ij->ji", {{2, 3}}, {3, 2}},
      {"ij->", {{2, 3}}, {}},
      {"ii->i", {{3, 3}}, {3}},
      {"ii->", {{3, 3}}, {}},
      {"i,j->ij", {{2}, {3}}, {2, 3}},
      {"ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}, {2, 5}},
      {"...d,df->...f", {{2, 3, 4}, {4, 5}}, {2, 3, 5}},
      {"...ij,...jk->...ik", {{7, 1, 2, 3}, {5, 3, 4}}, {7, 5, 2, 4}},
      {"ij,kj->i", {{2, 3}, {4, 3}}, {2}},
  };
  for (const Case& c : cases) {
    Graph g;
    EXPECT_EQ(trace_einsum(g, c.equation, c.shapes).dims(), c.result) << c.equation;
  }
}

TEST(Einsum, OfTwoOperandsIsOneDotGeneralAndAtMostOneTranspose) {
  struct Case {
    std::string_view equation;
    std::vector<Dims> shapes;
    int transposes;
  };
  const Case cases[] = {
      {"btd,df->btf", {{2, 3, 4}, {4, 5}}, 0},
      {"df,btd->btf", {{4, 5}, {2, 3, 4}}, 0},  // the operands change places
      {"bthd,bshd->bhts", {{2, 3, 4, 5}, {2, 6, 4, 5}}, 0},
      {"bhts,bshd->bthd", {{2, 4, 3, 6}, {2, 6, 4, 5}}, 1},
      {"btd,df->ftb", {{2, 3, 4}, {4, 5}}, 1},
  };
  for (const Case& c : cases) {
    Graph g;
    trace_einsum(g, c.equation, c.shapes);
    EXPECT_EQ(count(g, kDotGeneral), 1) << c.equation;
    EXPECT_EQ(count(g, kTranspose), c.transposes) << c.equation;
    EXPECT_EQ(g.size(), 3 + c.transposes) << c.equation;
  }
}

TEST(Einsum, SumsALettersOfOneOperandBeforeTheProduct) {
  Graph g;
  trace_einsum(g, "ijx,jk->ik", {{2, 3, 9}, {3, 4}});
  EXPECT_EQ(count(g, kReduceSum), 1);
  EXPECT_EQ(count(g, kDotGeneral), 1);
}

TEST(Einsum, MultipliesTheCheapestPairFirst) {
  Graph g;  // (big · big) · vector costs far more than big · (big · vector)
  trace_einsum(g, "ij,jk,k->i", {{20, 30}, {30, 40}, {40}});
  const Node& first = g.node(3);
  EXPECT_EQ(first.op, &kDotGeneral);
  EXPECT_EQ(first.shapes[0].dims, Dims{30});
}

TEST(Einsum, ErrorsNameTheLetterAndTheSizes) {
  EXPECT_EQ(einsum_error("btd,df->btf", {{8, 256, 512}, {256, 512}}),
            "[einsum] \"btd,df->btf\": letter d is 512 in operand 0 (f32[8,256,512]) and 256 in "
            "operand 1 (f32[256,512])");
  EXPECT_THAT(einsum_error("btd->b", {{8, 256}}),
              HasSubstr("operand 0 is f32[8,256] of rank 2, its letters are 3"));
  EXPECT_THAT(einsum_error("ab...->a...b", {{8}}), HasSubstr("of rank 1, its letters are 2"));
  EXPECT_THAT(einsum_error("i,i->i", {{8}}), HasSubstr("is for 2 operands, got 1"));
  EXPECT_THAT(einsum_error("ii->i", {{2, 3}}), HasSubstr("letter i is 2 in operand 0"));
  EXPECT_THAT(einsum_error("...i,...i->...", {{2, 3}, {4, 3}}),
              HasSubstr("dim -1 of `...` is 2 in operand 0 (f32[2,3]) and 4"));
}

}  // namespace
}  // namespace tessera
