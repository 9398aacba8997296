#include "tessera/train/feed.h"

#include "tessera/data/document_split.h"
#include "tessera/data/packed_examples.h"

namespace tessera {
namespace {

Result<std::unique_ptr<BatchLoader>> make_loader(const TrainingData& data,
                                                 std::vector<uint64_t> documents,
                                                 const RunConfig& config,
                                                 BatchLoaderOptions options) {
  ASSIGN_OR_RETURN(auto examples, PackedExamples::create(data.store, std::move(documents),
                                                         config.training.sequence_length,
                                                         /*masked=*/config.task == Task::kSft));
  options.batch_size = config.training.batch_size;
  return BatchLoader::create(std::move(examples), options);
}

// The array of a batch that a program's argument takes, as a host array.
Result<HostArray> batch_array(const Batch& batch, const std::string& path) {
  const Dims dims = {batch.rows, batch.length};
  const auto ids = [&](const std::vector<int32_t>& values) {
    return HostArray::from<int32_t>(DType::kS32, dims, std::span<const int32_t>(values));
  };
  if (path == "batch.tokens") return ids(batch.tokens);
  if (path == "batch.targets") return ids(batch.targets);
  if (path == "batch.segment_ids") return ids(batch.segment_ids);
  if (path == "batch.positions") return ids(batch.positions);
  if (path == "batch.mask")
    return HostArray::from<float>(DType::kF32, dims, std::span<const float>(batch.mask));
  return internal_error("the loader has nothing for ", path);
}

}  // namespace

Result<TrainingData> TrainingData::open(const RunConfig& config,
                                        std::shared_ptr<const TokenStore> store) {
  TrainingData data{
      .store = std::move(store), .train = nullptr, .validation = nullptr, .unigram = {}};
  const ValidationOptions held_out{
      .fraction = config.data.validation_fraction, .count = 0, .seed = config.data.shuffle_seed};
  ASSIGN_OR_RETURN(const DocumentSplit split, split_documents(data.store->documents(), held_out));
  ASSIGN_OR_RETURN(data.train,
                   make_loader(data, split.train, config,
                               {.shuffle = config.data.shuffle, .seed = config.data.shuffle_seed}));
  if (split.validation.empty() || config.training.eval_batches == 0) return data;
  ASSIGN_OR_RETURN(data.validation,
                   make_loader(data, split.validation, config, {.shuffle = false, .epochs = 1}));
  if (config.task == Task::kSft) return data;  // the unigram model would be of all tokens
  ASSIGN_OR_RETURN(data.unigram, unigram_loss(*data.store, split));
  return data;
}

Result<Tree<Array>> put_batch(Runtime& runtime, const Batch& batch,
                              const CompiledFunction& program) {
  Tree<Array> arrays;
  for (const ProgramValue& argument : program.arguments()) {
    if (!argument.path.starts_with("batch.")) continue;
    ASSIGN_OR_RETURN(const HostArray host, batch_array(batch, argument.path));
    ASSIGN_OR_RETURN(Array array, Array::from_host(runtime, host, argument.sharding));
    RETURN_IF_ERROR(arrays.add(argument.path, std::move(array)));
  }
  return arrays;
}

}  // namespace tessera
