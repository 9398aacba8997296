#include "tessera/train/feed.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"
#include "tessera/base/format.h"
#include "tessera/base/log.h"
#include "tessera/data/document_split.h"
#include "tessera/data/first_fit_examples.h"
#include "tessera/data/packed_examples.h"
#include "tessera/train/compile.h"
#include "tessera/train/step.h"

namespace tessera {
namespace {

Result<std::shared_ptr<const ExampleSource>> make_examples(const RunConfig& config,
                                                           std::shared_ptr<const TokenStore> store,
                                                           const std::vector<uint64_t>& documents) {
  const int64_t length = config.training.sequence_length;
  const bool masked = config.task == Task::kSft;
  if (config.data.packing == Packing::kFirstFit)
    return FirstFitExamples::create(std::move(store), documents, length, masked);
  return PackedExamples::create(std::move(store), documents, length, masked);
}

void log_source(const DataSource& source, const ExampleSource& examples) {
  const double room = static_cast<double>(examples.size() * examples.length());
  log_info("data: ", source.name.empty() ? "" : str_cat(source.name, ": "),
           count_text(static_cast<double>(examples.size())), " rows of ", examples.length(),
           " tokens an epoch, ",
           absl::StrFormat("%.1f %% full", 100 * static_cast<double>(examples.tokens()) / room));
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

Result<TrainingData> TrainingData::open(const RunConfig& config, const TokenStores& stores,
                                        const std::vector<int64_t>& rows) {
  const ValidationOptions held_out{
      .fraction = config.data.validation_fraction, .count = 0, .seed = config.data.shuffle_seed};
  const bool validates = config.training.eval_batches > 0;
  ASSIGN_OR_RETURN(const std::vector<DataSource> named, config.data.sources());
  std::vector<SampleSource> train, validation;
  TrainingData data;
  for (size_t i = 0; i < named.size(); ++i) {
    SampleSource source = {named[i].name, nullptr, named[i].weight, named[i].epochs};
    ASSIGN_OR_RETURN(const DocumentSplit split, split_documents(stores[i]->documents(), held_out));
    ASSIGN_OR_RETURN(source.examples, make_examples(config, stores[i], split.train));
    log_source(named[i], *source.examples);
    train.push_back(source);
    if (split.validation.empty() || !validates) continue;
    ASSIGN_OR_RETURN(source.examples, make_examples(config, stores[i], split.validation));
    source.epochs = 1;
    validation.push_back(std::move(source));
    // The unigram model would be of all tokens of a conversation.
    if (named.size() > 1 || config.task == Task::kSft) continue;
    ASSIGN_OR_RETURN(data.unigram, unigram_loss(*stores[i], split));
  }
  BatchLoaderOptions options = {.batch_size = config.training.batch_size,
                                .rows = rows,
                                .shuffle = config.data.shuffle,
                                .seed = config.data.shuffle_seed,
                                .workers = static_cast<int>(config.data.workers),
                                .prefetch = config.data.prefetch};
  ASSIGN_OR_RETURN(data.train, BatchLoader::create(std::move(train), options));
  if (validation.empty()) return data;
  options.shuffle = false;
  ASSIGN_OR_RETURN(data.validation, BatchLoader::create(std::move(validation), options));
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

Result<Tree<Array>> put_batch(Runtime& runtime, const Batch& batch, const CompiledFunction& program,
                              const std::optional<NamedSharding>& even) {
  Tree<Array> arrays;
  for (const ProgramValue& argument : program.arguments()) {
    if (!argument.path.starts_with("batch.")) continue;
    ASSIGN_OR_RETURN(const HostArray rows, batch_array(batch, argument.path));
    ASSIGN_OR_RETURN(Array array,
                     Array::from_shards(runtime, argument.shape, even.value_or(argument.sharding),
                                        [&](const Box& box) { return part_of(batch, rows, box); }));
    if (even) {
      ASSIGN_OR_RETURN(array, device_put(runtime, array, argument.sharding));
    }
    RETURN_IF_ERROR(arrays.add(argument.path, std::move(array)));
  }
  return arrays;
}

}  // namespace tessera
