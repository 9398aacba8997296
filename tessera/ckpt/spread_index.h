#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"

namespace tessera {

/// The part of one spread checkpoint (spread_files.h) that a folder holds.
struct CheckpointPart {
  int64_t step = 0;
  /// Of the manifest's text: parts with another one are of another save.
  uint32_t manifest_crc32c = 0;
  std::string folder;                    // below the place
  std::map<std::string, int64_t> files;  // below that folder, with their sizes
};

/// What one place holds: parts of checkpoints, each in <place>/<any folder>/<step>.
using PlaceIndex = std::vector<CheckpointPart>;

/// Looks through a place; empty where there is none. Parts that were never committed, or whose
/// manifest is damaged, are left out.
Result<PlaceIndex> index_place(FileSystem& files, const std::string& place);

/// For telling other processes, and back; DATA_LOSS for what is no such text.
std::string to_text(const PlaceIndex& index);
Result<PlaceIndex> place_index_from_text(const std::string& text);

}  // namespace tessera
