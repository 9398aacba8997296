#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/filesystem.h"

namespace tessera {

/// Of a file of JSON lines, each with the "step" that it is of, keeps those of steps up to `step`,
/// which a run goes on from; a damaged line costs no other. OK where there is no such file.
Status keep_lines(FileSystem& files, const std::string& path, int64_t step);

}  // namespace tessera
