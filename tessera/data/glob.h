#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"

namespace tessera {

/// `*` is any text without a slash, `?` one character but a slash, `**` any text, `**/` any number
/// of folders, also none. Everything else stands for itself.
bool glob_matches(std::string_view pattern, std::string_view path);

/// Whether `text` has a character that glob_matches() takes as special.
bool is_glob(std::string_view text);

/// Paths of all files below `folder`, at any depth, sorted; without what begins with a dot. Links
/// to folders are not followed: each is a warning.
Result<std::vector<std::string>> list_files(FileSystem& files, const std::string& folder);

/// The files that match `pattern`, sorted; maybe none. NOT_FOUND when the folder before its first
/// special character is missing.
Result<std::vector<std::string>> expand_glob(FileSystem& files, const std::string& pattern);

}  // namespace tessera
