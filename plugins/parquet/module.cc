#include "plugins/parquet/module.h"

#include <arrow/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/parquet/json_text.h"

struct TesseraPqFile {
  std::unique_ptr<parquet::arrow::FileReader> reader;
  std::vector<int> columns;  // the leaves of the column that is read
  std::unique_ptr<arrow::RecordBatchReader> batches;
  int64_t rows = 0;
  int64_t left_out = 0;  // rows still to be left out
};

namespace {

constexpr int64_t kBatchRows = 256;

void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>* columns) {
  if (field.is_leaf()) columns->push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, columns);
}

arrow::Result<std::unique_ptr<parquet::arrow::FileReader>> open_reader(const std::string& path) {
  parquet::ArrowReaderProperties properties;
  properties.set_batch_size(kBatchRows);
  properties.set_use_threads(false);  // the caller has a thread for each core
  properties.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  ARROW_RETURN_NOT_OK(builder.OpenFile(path, /*memory_map=*/false));
  return builder.properties(properties)->Build();
}

arrow::Status read_from_group(TesseraPqFile* file, int group) {
  std::vector<int> groups(file->reader->num_row_groups() - group);
  std::iota(groups.begin(), groups.end(), group);
  ARROW_ASSIGN_OR_RAISE(file->batches, file->reader->GetRecordBatchReader(groups, file->columns));
  return arrow::Status::OK();
}

arrow::Status open_file(const std::string& path, const std::string& column, bool text_only,
                        TesseraPqFile* file) {
  ARROW_ASSIGN_OR_RAISE(file->reader, open_reader(path));
  std::shared_ptr<arrow::Schema> schema;
  ARROW_RETURN_NOT_OK(file->reader->GetSchema(&schema));
  const std::vector<int> found = schema->GetAllFieldIndices(column);
  if (found.size() > 1)
    return arrow::Status::Invalid(found.size(), " columns are named \"", column, "\"");
  if (found.empty()) {
    std::string names;
    for (const std::string& name : schema->field_names()) names += " " + name;
    return arrow::Status::Invalid("no column \"", column, "\"; there are",
                                  names.empty() ? " none" : names);
  }
  const int index = found[0];
  const arrow::DataType& type = *schema->field(index)->type();
  if (!tessera_parquet::is_text(type) && (text_only || !tessera_parquet::is_nested(type))) {
    return arrow::Status::Invalid("the column \"", column, "\" holds ", type.ToString(),
                                  text_only ? ", not text" : ", not conversations");
  }
  add_leaves(file->reader->manifest().schema_fields[index], &file->columns);
  file->rows = file->reader->parquet_reader()->metadata()->num_rows();
  return read_from_group(file, 0);
}

arrow::Result<int64_t> next_rows(TesseraPqFile* file, TesseraPqRowSink sink, void* context) {
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(file->batches->ReadNext(&batch));
    if (batch == nullptr) return 0;
    const int64_t begin = std::min(file->left_out, batch->num_rows());
    file->left_out -= begin;
    if (begin == batch->num_rows()) continue;
    const arrow::Array& values = *batch->column(0);
    std::string json;
    for (int64_t row = begin; row < values.length(); ++row) {
      if (values.IsNull(row)) {
        sink(context, nullptr, 0, 1);
        continue;
      }
      std::string_view text;
      if (!tessera_parquet::text_at(values, row, &text)) {
        json.clear();
        tessera_parquet::append_json(values, row, &json);
        text = json;
      }
      sink(context, text.data(), text.size(), 0);
    }
    return values.length() - begin;
  }
}

void emit(const std::string& text, TesseraPqTextSink sink, void* context) {
  sink(context, text.data(), text.size());
}

// Whatever Arrow does, no exception crosses the line.
template <typename Work>
bool succeeds(Work work, TesseraPqTextSink error, void* context) {
  std::string why;
  try {
    const arrow::Status status = work();
    if (status.ok()) return true;
    why = status.message();
  } catch (const std::exception& thrown) {
    why = thrown.what();
  }
  emit(why, error, context);
  return false;
}

std::string string_of(TesseraPqText text) { return {text.data, text.size}; }

TesseraPqFile* open(TesseraPqText path, TesseraPqText column, int text_only,
                    TesseraPqTextSink error, void* context) {
  auto file = std::make_unique<TesseraPqFile>();
  const auto work = [&] {
    return open_file(string_of(path), string_of(column), text_only != 0, file.get());
  };
  return succeeds(work, error, context) ? file.release() : nullptr;
}

int64_t rows(const TesseraPqFile* file) { return file->rows; }

int64_t next(TesseraPqFile* file, TesseraPqRowSink row, void* row_context, TesseraPqTextSink error,
             void* error_context) {
  int64_t count = -1;
  const auto work = [&] { return next_rows(file, row, row_context).Value(&count); };
  return succeeds(work, error, error_context) ? count : -1;
}

int skip(TesseraPqFile* file, int64_t rows, TesseraPqTextSink error, void* context) {
  const auto work = [&]() -> arrow::Status {
    const auto metadata = file->reader->parquet_reader()->metadata();
    int group = 0;
    for (; group < metadata->num_row_groups(); ++group) {  // whole groups are not even read
      const int64_t in_group = metadata->RowGroup(group)->num_rows();
      if (rows < in_group) break;
      rows -= in_group;
    }
    file->left_out = rows;
    return read_from_group(file, group);
  };
  return succeeds(work, error, context) ? 1 : 0;
}

void close(TesseraPqFile* file) { delete file; }

constexpr TesseraPqApi kApi = {open, rows, next, skip, close};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TesseraPqApi* tessera_parquet_api() {
  return &kApi;
}
