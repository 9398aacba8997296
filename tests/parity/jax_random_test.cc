#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/random.h"
#include "tessera/ops/shape.h"
#include "tessera/pjrt/testing.h"
#include "tessera/stablehlo/module.h"
#include "tests/parity/formula.h"

// ops/random.h against jax.random: bits equal, floats that pass through log or erf⁻¹ close.

namespace tessera::parity {
namespace {

struct Draw {
  std::string name;
  Value value;
  double ulps = 0;  // at 1, or at the value if that is larger; 0: the same bits
};

Value logits(Graph& graph) {
  const Value steps = iota(graph, {DType::kF32, {9, 7}}, 1);
  return steps * (4.0 / 6) - 2.0;
}

std::vector<Draw> draws(Graph& graph, uint64_t seed) {
  const Value key = random_key(graph, seed);
  const Dims dims = {5, 3};
  std::vector<Draw> all = {
      {"key", key},
      {"split", stack(split(key, 3))},
      {"fold_in", fold_in(key, 77)},
      {"u8_bits", random_bits(key, dims, DType::kU8)},
      {"u16_bits", random_bits(key, dims, DType::kU16)},
      {"u32_bits", random_bits(key, dims, DType::kU32)},
      {"u64_bits", random_bits(key, dims, DType::kU64)},
      {"scalar_bits", random_bits(key, {}, DType::kU32)},
      {"bernoulli", bernoulli(key, 0.3, Dims{4, 9})},
      {"randint", randint(key, {DType::kS32, {6, 5}}, -7, 1000)},
      {"categorical", categorical(key, logits(graph))},
  };
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    const Shape shape{dtype, {4, 6}};
    all.push_back({str_cat("uniform_", dtype_name(dtype)), uniform(key, shape)});
    // A processor without f16 of its own rounds u (b - a) + a once, others each operation. The
    // golden numbers are one's of the second kind.
    const double ulps = dtype == DType::kF16 ? 1 : 0;
    all.push_back(
        {str_cat("uniform_range_", dtype_name(dtype)), uniform(key, shape, -0.5, 2.25), ulps});
  }
  for (DType dtype : {DType::kF32, DType::kF64}) {
    const Shape shape{dtype, {8, 8}};
    // JAX's erf_inv in f64 is XLA's, which differs from ours by up to 1e-14.
    const double ulps = dtype == DType::kF32 ? 8 : 200;
    all.push_back({str_cat("normal_", dtype_name(dtype)), normal(key, shape), ulps});
    all.push_back(
        {str_cat("truncated_normal_", dtype_name(dtype)), truncated_normal(key, shape), ulps});
    all.push_back({str_cat("gumbel_", dtype_name(dtype)), gumbel(key, shape), ulps});
  }
  return all;
}

HostArray from_bits(const Shape& shape, const std::vector<int64_t>& bits) {
  HostArray array(shape);
  const size_t width = dtype_host_bytes(shape.dtype);
  for (size_t i = 0; i < bits.size(); ++i)
    std::memcpy(array.bytes().data() + i * width, &bits[i], width);
  return array;
}

std::vector<int64_t> as_signed(const Json& values) {
  std::vector<int64_t> numbers;
  for (const Json& value : values) {
    numbers.push_back(value.is_number_unsigned() ? static_cast<int64_t>(value.get<uint64_t>())
                                                 : value.get<int64_t>());
  }
  return numbers;
}

void expect_draw(const HostArray& got, const HostArray& expected, double ulps) {
  if (ulps == 0) {
    EXPECT_TRUE(std::ranges::equal(got.bytes(), expected.bytes()))
        << "got " << ::testing::PrintToString(to_doubles(got)) << "\nJAX "
        << ::testing::PrintToString(to_doubles(expected));
    return;
  }
  const DType dtype = got.shape().dtype;
  const double epsilon = dtype == DType::kF16 ? 0x1p-10 : dtype == DType::kF32 ? 0x1p-23 : 0x1p-52;
  const std::vector<double> a = to_doubles(got), b = to_doubles(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE(std::fabs(a[i] - b[i]), ulps * epsilon * std::max(1.0, std::fabs(b[i])))
        << "element " << i << ": " << a[i] << ", JAX " << b[i];
  }
}

void expect_jax_draws(const Json& golden) {
  std::vector<std::string> names;
  std::vector<double> ulps;
  const auto graph = trace({}, [&](Graph& g, std::span<const Value>) {
    std::vector<Value> outputs;
    for (const Draw& draw : draws(g, golden.at("seed"))) {
      names.push_back(draw.name);
      ulps.push_back(draw.ulps);
      outputs.push_back(draw.value);
    }
    return outputs;
  });
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Result<std::string> text = stablehlo::print_module(**graph);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto outputs = pjrt::testing::run_stablehlo(*text, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(names.size() + 1, golden.size()) << "the script and the test draw different things";
  for (size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    const std::vector<int64_t> bits = as_signed(golden.at(names[i]));
    const HostArray& got = (*outputs)[i];
    ASSERT_EQ(got.shape().elements(), static_cast<int64_t>(bits.size()));
    expect_draw(got, from_bits(got.shape(), bits), ulps[i]);
  }
}

TEST(JaxParity, RandomNumbersAreTheSame) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Result<Json> golden = load_golden("jax_random.json");
  ASSERT_TRUE(golden.ok()) << golden.status();
  for (const Json& c : golden->at("cases")) {
    SCOPED_TRACE(str_cat("seed ", c.at("seed").get<uint64_t>()));
    expect_jax_draws(c);
  }
}

}  // namespace
}  // namespace tessera::parity
