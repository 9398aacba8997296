// Steps in bf16: sums are kept in f32.

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/train/batch_gradients.h"
#include "tessera/train/step.h"
#include "tests/step/step_testing.h"

namespace tessera::step_testing {
namespace {

Result<Inputs> results_in(ComputeType dtype, int64_t parts) {
  RunConfig config = small_config();
  config.training.dtype = dtype;
  config.training.gradient_accumulation_steps = parts;
  const Llama model(config.model.llama);
  ASSIGN_OR_RETURN(const Inputs state, initial_state(model, config));
  ASSIGN_OR_RETURN(const TracedProgram program, trace_train_step(model, config));
  Inputs inputs = with(state, uneven_batch(config.training, model.vocab_size()));
  RETURN_IF_ERROR(inputs.add("learning_rate", f32_scalar(0.01f)));
  return run(program, inputs);
}

TEST(Precision, ABF16StepIsNearTheF32OneWholeOrInParts) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Result<Inputs> f32 = results_in(ComputeType::kF32, 1);
  ASSERT_TRUE(f32.ok()) << f32.status();
  for (const int64_t parts : {1, 8}) {
    const Result<Inputs> bf16 = results_in(ComputeType::kBf16, parts);
    ASSERT_TRUE(bf16.ok()) << bf16.status();
    for (const char* path : {"metrics.loss", "metrics.gradient_norms"}) {
      const double apart = relative_distance(doubles(*f32, path), doubles(*bf16, path));
      EXPECT_LT(apart, 0.02) << path << " in " << parts;
      EXPECT_GT(apart, 0) << path << ": this was no bf16";
    }
    EXPECT_EQ(bf16->at("params.head.kernel").shape().dtype, DType::kF32);
    EXPECT_EQ(bf16->at("optimizer.mu.head.kernel").shape().dtype, DType::kF32);
  }
}

// Added up in bf16, ones would stop at 256.
TEST(Precision, ProductsOfBF16AreAddedUpInF32) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  TracedProgram program;
  program.results = {scalar_spec("sum")};
  ASSERT_TRUE(trace_into(program, [](Graph& graph, const Tree<Value>&) {
                const Value x = ones(graph, Shape{DType::kBF16, {1000}});
                return std::vector<Value>{convert(einsum("i,i->", {x, x}), DType::kF32)};
              }).ok());
  const Result<Inputs> results = run(program, {});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(number(*results, "sum"), 1000);
}

}  // namespace
}  // namespace tessera::step_testing
