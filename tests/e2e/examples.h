#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/e2e/program.h"

/// What a run with logging.examples learned from.
namespace tessera::e2e {

/// Position in the run → source and example, as all processes of a run wrote them. Each position
/// must be there once.
using Examples = std::map<int64_t, std::pair<int, int64_t>>;
inline Examples examples_of(const Workspace& workspace, const std::string& output) {
  Examples found;
  for (const auto& entry :
       std::filesystem::directory_iterator(workspace.path(output + "/examples"))) {
    std::ifstream file(entry.path());
    for (std::string text; std::getline(file, text);) {
      const auto line = nlohmann::json::parse(text);
      for (size_t i = 0; i < line["rows"].size(); ++i) {
        const int64_t position = line["position"].get<int64_t>() + line["rows"][i].get<int64_t>();
        const bool is_new = found
                                .emplace(position, std::pair(line["sources"][i].get<int>(),
                                                             line["examples"][i].get<int64_t>()))
                                .second;
        EXPECT_TRUE(is_new) << output << ": position " << position << " was used twice";
      }
    }
  }
  return found;
}

}  // namespace tessera::e2e
