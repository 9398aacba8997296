#include "tessera/data/parquet.h"

#include <deque>
#include <utility>

#include "plugins/parquet/module.h"
#include "tessera/data/corpus.h"
#include "tessera/data/module.h"

namespace tessera {
namespace {

Result<const TesseraPqApi*> load_api() {
  ASSIGN_OR_RETURN(
      void* address,
      load_module("tessera_parquet.so", "tessera_parquet_api",
                  "Parquet is not read: its module is missing, or does not find Apache Arrow. "
                  "scripts/setup_arrow fetches Arrow (tessera-setup-arrow where Tessera is "
                  "installed); a build that lacks the module must then be made again."));
  return reinterpret_cast<const TesseraPqApi* (*)()>(address)();
}

Result<const TesseraPqApi*> module_api() {
  static const Result<const TesseraPqApi*> api = load_api();
  return api;
}

TesseraPqText text_of(std::string_view text) { return {text.data(), text.size()}; }

void append_text(void* out, const char* data, size_t size) {
  static_cast<std::string*>(out)->append(data, size);
}

struct Row {
  std::string value;
  bool null;
};

void append_row(void* out, const char* data, size_t size, int null) {
  static_cast<std::deque<Row>*>(out)->push_back({std::string(data, size), null != 0});
}

}  // namespace

struct ParquetRows::Parts {
  const TesseraPqApi* api;
  TesseraPqFile* file;
  std::string path;
  std::deque<Row> ready;

  ~Parts() { api->close(file); }
};

ParquetRows::ParquetRows(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ParquetRows::~ParquetRows() = default;

Result<std::unique_ptr<ParquetRows>> ParquetRows::open(const std::string& path,
                                                       const std::string& column) {
  const Result<const TesseraPqApi*> api = module_api();
  if (!api.ok()) return annotate(api.status(), path);
  std::string error;
  TesseraPqFile* file =
      (*api)->open(text_of(path), text_of(column), column != kMessagesKey, append_text, &error);
  if (file == nullptr) return invalid_argument(path, ": ", error);
  auto parts = std::unique_ptr<Parts>(new Parts{*api, file, path, {}});
  return std::unique_ptr<ParquetRows>(new ParquetRows(std::move(parts)));
}

int64_t ParquetRows::rows() const { return parts_->api->rows(parts_->file); }

Result<bool> ParquetRows::next(std::string* value, bool* null) {
  if (parts_->ready.empty()) {
    std::string error;
    const int64_t count =
        parts_->api->next(parts_->file, append_row, &parts_->ready, append_text, &error);
    if (count < 0) return data_loss(parts_->path, ": ", error);
    if (count == 0) return false;
  }
  *value = std::move(parts_->ready.front().value);
  *null = parts_->ready.front().null;
  parts_->ready.pop_front();
  return true;
}

Status ParquetRows::skip(int64_t rows) {
  std::string error;
  if (parts_->api->skip(parts_->file, rows, append_text, &error)) return {};
  return data_loss(parts_->path, ": ", error);
}

}  // namespace tessera
