#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/base/status.h"

namespace tessera {

/// The values of one column of a Parquet file, row by row, read by Apache Arrow: a module with it
/// is loaded at the first call (plugins/parquet). One thread at a time.
class ParquetRows {
 public:
  /// NOT_FOUND with the command that fetches Arrow where the module or its libraries are missing.
  /// INVALID_ARGUMENT, naming the file, when it is no Parquet file or has no such column of text,
  /// or of structures.
  static Result<std::unique_ptr<ParquetRows>> open(const std::string& path,
                                                   const std::string& column);
  ~ParquetRows();

  int64_t rows() const;
  /// Sets the next row's value, which is text, or of lists and structures their JSON, or `null`.
  /// False at the end.
  Result<bool> next(std::string* value, bool* null);
  Status skip(int64_t rows);

 private:
  struct Parts;
  explicit ParquetRows(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tessera
