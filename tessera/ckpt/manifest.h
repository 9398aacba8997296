#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/ckpt/array_spec.h"

namespace tessera {

/// The version that this program writes, and the newest that it reads.
inline constexpr int kCheckpointFormatVersion = 1;
inline constexpr std::string_view kCheckpointManifestFile = "checkpoint.json";

/// What is known of a chunk file that was written.
struct StoredChunk {
  uint32_t checksum = 0;
  int64_t file_bytes = 0;
};

/// What a checkpoint says of one array.
struct ArrayRecord {
  ArraySpec spec;
  uint32_t metadata_crc32c = 0;           // of its zarr.json
  std::vector<uint32_t> chunk_checksums;  // in row-major order of the grid; see write_chunk_file
  std::vector<int64_t> chunk_file_bytes;  // in the same order; empty without compression

  StoredChunk stored(size_t chunk) const {
    return {chunk_checksums[chunk],
            chunk_file_bytes.empty() ? spec.chunk_file_bytes() : chunk_file_bytes[chunk]};
  }
  /// Of all its chunks, on disk.
  int64_t file_bytes() const;
};

/// What a checkpoint says of itself: the file checkpoint.json (docs/format_checkpoint.md). The
/// members named *_json hold the text of any JSON value, which this layer stores and gives back
/// without looking into it.
struct Manifest {
  int64_t step = 0;                 // steps done
  int64_t saved_unix_s = 0;         // when, for people
  std::string program_json = "{}";  // versions of this program, its plugin, its compiler
  std::string mesh_json = "null";   // the axes and sizes it was saved from
  std::string rules_json = "null";  // names of dimensions to axes
  std::string config_json = "null";
  std::string data_json = "null";  // the position in the data
  std::string rng_json = "null";
  std::string metrics_json = "{}";  // loss and the like, for retention by a metric
  std::vector<ArrayRecord> arrays;  // sorted by name

  /// The array of that name; null when there is none.
  const ArrayRecord* find(std::string_view name) const;
};

/// The text of checkpoint.json, its own checksum at the end. INVALID_ARGUMENT when a *_json member
/// is not JSON.
Result<std::string> manifest_to_text(const Manifest& manifest);

/// The inverse. `source` is the file's path, for messages. DATA_LOSS when the text is not as it was
/// written; UNIMPLEMENTED when a newer program wrote it in a version, or with a feature, that this
/// one does not know.
Result<Manifest> manifest_from_text(std::string_view text, std::string_view source);

}  // namespace tessera
