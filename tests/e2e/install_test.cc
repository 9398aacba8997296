// The installed tree, as `cmake --install` makes it: complete by itself, and movable.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/program.h"

namespace tessera::e2e {
namespace {

using ::testing::HasSubstr;

TEST(Install, TheInstalledProgramFindsItsPartsTrainsAndMayBeMoved) {
  const Workspace workspace;
  const Ended installed = workspace.shell(
      "cmake --install \"${TESSERA_BUILD_DIR:?}\" --prefix \"$PWD/prefix\" --strip");
  ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
  for (const char* name : {"bin/tessera", "bin/tessera-setup-sdk", "bin/tessera-setup-arrow",
                           "lib/tessera/pjrt_cpu.so", "share/tessera/recipes/quickstart.yaml",
                           "share/doc/tessera/README.md"})
    EXPECT_TRUE(std::filesystem::exists(workspace.path("prefix") + "/" + name)) << name;

  // Moved, so that nothing can be found by a path that was written down; and out of the build's
  // environment.
  std::filesystem::rename(workspace.path("prefix"), workspace.path("moved"));
  const std::string program = "env -u TESSERA_BUILD_DIR -u TESSERA_SOURCE_DIR moved/bin/tessera ";
  const Ended doctor = workspace.shell(program + "doctor");
  EXPECT_EQ(doctor.exit_code, 0) << doctor.out << doctor.err;
  EXPECT_THAT(doctor.out, HasSubstr("moved/lib/tessera/pjrt_cpu.so"));

  // Without the link to XLA's libraries, as a package is before they are fetched.
  const Ended without =
      workspace.shell("mv moved/lib/tessera/xla-sdk-2.21.0 aside\n" + program +
                      "doctor; code=$?; mv aside moved/lib/tessera/xla-sdk-2.21.0; exit $code");
  EXPECT_EQ(without.exit_code, 1) << without.out;
  EXPECT_THAT(without.out, HasSubstr("tessera-setup-sdk"));

  const Ended trained = workspace.shell(
      "printf 'one line of text\\n%.0s' $(seq 300) > corpus/more.txt\n" + program +
      "train recipe.yaml training.steps=2 model.vocab_size=300 data.tokenizer.kind=sentencepiece "
      "data.tokenizer.vocab_size=300");
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(workspace.losses("run").size(), 2u);
}

}  // namespace
}  // namespace tessera::e2e
