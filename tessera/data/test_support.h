#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/testing.h"
#include "tessera/data/permutation.h"
#include "tessera/data/token_store.h"
#include "tessera/data/token_store_writer.h"

namespace tessera {

inline std::string file_text(const std::string& path) {
  PosixFileSystem files;
  return files.read_file(path).value();
}

/// Line `i` of a text with enough different words to train a small vocabulary on.
inline std::string varied_line(uint64_t i) {
  constexpr std::string_view kSyllables[] = {"ka", "to", "mi", "ser", "lun", "ve", "dor", "pi"};
  std::string line = "    The";
  for (uint64_t word = mix64(i); word > 0xFFFFFF; word >>= 12) {
    str_append(&line, " ", kSyllables[word & 7], kSyllables[word >> 3 & 7],
               kSyllables[word >> 6 & 7]);
  }
  return str_cat(line, ", again: ", i);
}

/// A store of the given documents, byte tokens, nothing added.
inline std::shared_ptr<const TokenStore> make_store(
    const std::string& folder, const std::vector<std::vector<int32_t>>& documents) {
  PosixFileSystem files;
  auto writer = TokenStoreWriter::create(files, folder, byte_tokenizer(),
                                         {.add_bos = false, .add_eos = false, .overwrite = true});
  EXPECT_TRUE(writer.ok()) << writer.status();
  for (const auto& document : documents) EXPECT_TRUE((*writer)->add_document(document).ok());
  EXPECT_TRUE((*writer)->finish({}).ok());
  return TokenStore::open(folder).value();
}

}  // namespace tessera
