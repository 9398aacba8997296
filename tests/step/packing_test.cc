// Documents of one row do not see one another.

#include "tessera/train/step.h"
#include "tests/parity/formula.h"
#include "tests/step/step_testing.h"

namespace tessera::step_testing {
namespace {

constexpr int64_t kLength = 16;
const std::vector<int64_t> kDocuments = {5, 7, 4};  // lengths

/// Arrays of a batch, filled document by document.
struct Rows {
  explicit Rows(int64_t rows)
      : tokens(Shape{DType::kS32, {rows, kLength}}),
        targets(tokens.shape()),
        segment_ids(tokens.shape()),
        positions(tokens.shape()),
        mask(Shape{DType::kF32, {rows, kLength}}) {}

  // Writes document `index` at `at`, counting its loss or not.
  void write(int index, int64_t at, int32_t segment, bool counts, int32_t shift = 0) {
    const HostArray text = parity::tokens(500 + index, 60, {kDocuments[index]});
    for (int64_t i = 0; i < kDocuments[index]; ++i) {
      const bool last = i + 1 == kDocuments[index];
      tokens.as<int32_t>()[at + i] = text.as<int32_t>()[i] + shift;
      targets.as<int32_t>()[at + i] = last ? 0 : text.as<int32_t>()[i + 1] + shift;
      segment_ids.as<int32_t>()[at + i] = segment;
      positions.as<int32_t>()[at + i] = static_cast<int32_t>(i);
      mask.as<float>()[at + i] = counts && !last ? 1 : 0;
    }
  }
  Inputs inputs() const {
    Inputs all;
    CHECK(all.add("batch.tokens", tokens).ok());
    CHECK(all.add("batch.targets", targets).ok());
    CHECK(all.add("batch.segment_ids", segment_ids).ok());
    CHECK(all.add("batch.positions", positions).ok());
    CHECK(all.add("batch.mask", mask).ok());
    return all;
  }

  HostArray tokens, targets, segment_ids, positions, mask;
};

// All documents in one row; the loss of document `counted`, the others shifted to other tokens.
Rows packed(int counted, int32_t shift = 0) {
  Rows rows(1);
  int64_t at = 0;
  for (int i = 0; i < 3; ++i) {
    rows.write(i, at, i + 1, i == counted, i == counted ? 0 : shift);
    at += kDocuments[i];
  }
  return rows;
}

class Packing : public ::testing::Test {
 protected:
  void SetUp() override {
    TESSERA_SKIP_WITHOUT_PLUGIN();
    RunConfig config = small_config();
    config.training.batch_size = 1;
    const Llama model(config.model.llama);
    const auto params = initial_state(model, config);
    ASSERT_TRUE(params.ok()) << params.status();
    params_ = *params;
    const auto program = trace_eval_step(model, config.training);
    ASSERT_TRUE(program.ok()) << program.status();
    const auto compiled = Compiled::create(*program);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    eval_ = *compiled;
  }
  double loss_per_token(const Rows& rows) {
    const auto results = eval_->run(with(params_, rows.inputs()));
    CHECK_MSG(results.ok(), results.status().ToString());
    return number(*results, "cross_entropy") / number(*results, "weight");
  }

  Inputs params_;
  std::optional<Compiled> eval_;
};

TEST_F(Packing, GivesTheLossOfDocumentsInRowsOfTheirOwn) {
  for (int document = 0; document < 3; ++document) {
    Rows alone(1);
    alone.write(document, 0, 1, true);
    const double expected = loss_per_token(alone);
    EXPECT_NEAR(loss_per_token(packed(document)) / expected, 1, 1e-5) << document;
  }
}

TEST_F(Packing, NothingOfADocumentReachesAnothersLoss) {
  for (int document = 0; document < 3; ++document) {
    const double before = loss_per_token(packed(document));
    EXPECT_EQ(loss_per_token(packed(document, 3)), before) << document;
  }
}

TEST_F(Packing, WithoutSegmentsTheyWouldSeeOneAnother) {
  Rows one = packed(2);
  for (int32_t& id : one.segment_ids.as<int32_t>()) id = 1;
  EXPECT_GT(std::abs(loss_per_token(one) - loss_per_token(packed(2))), 1e-4);
}

}  // namespace
}  // namespace tessera::step_testing
