#pragma once

#include <stddef.h>
#include <stdint.h>

// What tessera/data asks of Apache Arrow's Parquet reader, as plain C.
//
// Arrow's libraries, out of PyPI's pyarrow wheel, carry their own copies of zlib, zstd, protobuf,
// OpenSSL and others, and few corpora are Parquet. So they are linked only into this module, which
// is loaded, with RTLD_LOCAL | RTLD_DEEPBIND, when the first such file is read. No memory changes
// owner across this line: results are handed to a sink while the call lasts.

#ifdef __cplusplus
extern "C" {
#endif

struct TesseraPqText {
  const char* data;
  size_t size;
};

/// Receives the reason where a function fails.
typedef void (*TesseraPqTextSink)(void* context, const char* data, size_t size);
/// Receives a row's value: text, or the JSON of lists and structures; `null` is 1 where there is
/// none.
typedef void (*TesseraPqRowSink)(void* context, const char* data, size_t size, int null);

typedef struct TesseraPqFile TesseraPqFile;

/// A file is for one thread at a time.
struct TesseraPqApi {
  /// Null where it fails. With `text_only` the column must hold strings; else lists of structures
  /// and strings will do.
  TesseraPqFile* (*open)(struct TesseraPqText path, struct TesseraPqText column, int text_only,
                         TesseraPqTextSink error, void* context);
  int64_t (*rows)(const TesseraPqFile* file);
  /// Hands the next rows, some hundreds at most, to `row`. Returns how many; 0 at the end, -1 where
  /// it fails.
  int64_t (*next)(TesseraPqFile* file, TesseraPqRowSink row, void* row_context,
                  TesseraPqTextSink error, void* error_context);
  /// Before the first next(): leaves out rows from the beginning. 0 where it fails.
  int (*skip)(TesseraPqFile* file, int64_t rows, TesseraPqTextSink error, void* context);
  void (*close)(TesseraPqFile* file);
};

/// The one symbol that the module exports.
const struct TesseraPqApi* tessera_parquet_api(void);

#ifdef __cplusplus
}
#endif
