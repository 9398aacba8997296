#include <gtest/gtest.h>

#include <cstdlib>

#include "tessera/base/filesystem.h"
#include "tessera/cli/recipe.h"

namespace tessera::cli {
namespace {

TEST(Recipes, EveryOneInTheRepositoryIsValid) {
  const char* source = std::getenv("TESSERA_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "set by ctest";
  PosixFileSystem files;
  const std::string folder = join_path(source, "recipes");
  const Result<std::vector<FileInfo>> listed = files.list(folder);
  ASSERT_TRUE(listed.ok()) << listed.status();
  int recipes = 0;
  for (const FileInfo& file : *listed) {
    if (!file.name.ends_with(".yaml")) continue;
    ++recipes;
    const Result<RunConfig> config =
        read_recipe({join_path(folder, file.name)}, /*needs_recipe=*/true);
    EXPECT_TRUE(config.ok()) << config.status();
  }
  EXPECT_GE(recipes, 1);
}

}  // namespace
}  // namespace tessera::cli
