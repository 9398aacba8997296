#include "tessera/train/feed.h"

#include <algorithm>
#include <set>

#include "tessera/data/document_split.h"
#include "tessera/data/packed_examples.h"
#include "tessera/train/compile.h"
#include "tessera/train/step.h"

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

// The array of a batch that a program's argument takes, as a host array of the rows that are there.
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

// A part of the global batch, of rows next to each other, from the rows that are there.
Result<HostArray> part_of(const Batch& batch, const HostArray& rows, Box box) {
  const auto& numbers = batch.row_numbers;
  const auto first = std::lower_bound(numbers.begin(), numbers.end(), box.start[0]);
  const int64_t at = first - numbers.begin(), last = at + box.dims[0] - 1;
  // Ascending numbers: when the last is where it would be without gaps, there are none.
  if (last >= batch.rows || numbers[static_cast<size_t>(last)] != box.start[0] + box.dims[0] - 1)
    return internal_error("the loader was not asked for row ", box.start[0], " of the batch");
  box.start[0] = at;
  return slice(rows, box);
}

}  // namespace

Result<TrainingData> TrainingData::open(const RunConfig& config,
                                        std::shared_ptr<const TokenStore> store,
                                        const std::vector<int64_t>& rows) {
  TrainingData data{
      .store = std::move(store), .train = nullptr, .validation = nullptr, .unigram = {}};
  const ValidationOptions held_out{
      .fraction = config.data.validation_fraction, .count = 0, .seed = config.data.shuffle_seed};
  ASSIGN_OR_RETURN(const DocumentSplit split, split_documents(data.store->documents(), held_out));
  ASSIGN_OR_RETURN(data.train, make_loader(data, split.train, config,
                                           {.rows = rows,
                                            .shuffle = config.data.shuffle,
                                            .seed = config.data.shuffle_seed}));
  if (split.validation.empty() || config.training.eval_batches == 0) return data;
  ASSIGN_OR_RETURN(data.validation, make_loader(data, split.validation, config,
                                                {.rows = rows, .shuffle = false, .epochs = 1}));
  if (config.task == Task::kSft) return data;  // the unigram model would be of all tokens
  ASSIGN_OR_RETURN(data.unigram, unigram_loss(*data.store, split));
  return data;
}

Result<std::vector<int64_t>> rows_to_read(const RunConfig& config, const Layout& layout,
                                          std::span<const int64_t> processes, int64_t process) {
  const ArgumentSpec tokens = batch_spec(config.training).front();
  ASSIGN_OR_RETURN(const ProgramValue value, lay_out(tokens, layout));
  ASSIGN_OR_RETURN(
      const std::vector<Box> boxes,
      boxes_to_read(config.data.loading, value.sharding, tokens.shape.dims, processes, process));
  std::set<int64_t> rows;
  for (const Box& box : boxes) {
    for (int64_t i = 0; i < box.dims[0]; ++i) rows.insert(box.start[0] + i);
  }
  return std::vector<int64_t>(rows.begin(), rows.end());
}

Result<Tree<Array>> put_batch(Runtime& runtime, const Batch& batch,
                              const CompiledFunction& program) {
  Tree<Array> arrays;
  for (const ProgramValue& argument : program.arguments()) {
    if (!argument.path.starts_with("batch.")) continue;
    ASSIGN_OR_RETURN(const HostArray rows, batch_array(batch, argument.path));
    ASSIGN_OR_RETURN(Array array,
                     Array::from_shards(runtime, argument.shape, argument.sharding,
                                        [&](const Box& box) { return part_of(batch, rows, box); }));
    RETURN_IF_ERROR(arrays.add(argument.path, std::move(array)));
  }
  return arrays;
}

}  // namespace tessera
