#include "tessera/pjrt/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tessera/pjrt/plugin_search.h"
#include "tessera/pjrt/testing.h"

namespace tessera::pjrt {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A folder of a test's own, with empty files in it.
class PluginSearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / (std::string("search_") + test->name());
    fs::remove_all(root_);
    fs::create_directories(root_ / "bin");
    search_.program_folder = root_ / "bin";
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path touch(const fs::path& file) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "x";
    return fs::canonical(root_ / file);
  }
  std::string error(std::string_view name) {
    return std::string(find_plugin(name, search_).status().message());
  }

  fs::path root_;
  PluginSearch search_;
};

TEST_F(PluginSearchTest, FindsOursBesideTheProgram) {
  const fs::path installed = touch("lib/tessera/pjrt_cpu.so");
  EXPECT_EQ(find_plugin("cpu", search_).value_or(""), installed);
  const fs::path built = touch("lib/pjrt_cpu.so");
  EXPECT_EQ(find_plugin("cpu", search_).value_or(""), built);
}

TEST_F(PluginSearchTest, ThePluginPathComesFirst) {
  touch("lib/pjrt_cpu.so");
  const fs::path mine = touch("mine/pjrt_cpu.so");
  search_.plugin_path = {root_ / "none", root_ / "mine"};
  EXPECT_EQ(find_plugin("cpu", search_).value_or(""), mine);
}

TEST_F(PluginSearchTest, FindsOthersWherePyPiPutsThem) {
  search_.python_folders = {root_ / "py"};
  const fs::path cuda = touch("py/jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  const fs::path rocm = touch("py/jax_plugins/xla_rocm7/xla_rocm_plugin.so");
  const fs::path tpu = touch("py/libtpu/libtpu.so");
  EXPECT_EQ(find_plugin("cuda", search_).value_or(""), cuda);
  EXPECT_EQ(find_plugin("rocm", search_).value_or(""), rocm);
  EXPECT_EQ(find_plugin("tpu", search_).value_or(""), tpu);
}

TEST_F(PluginSearchTest, ErrorsListThePlacesAndTheRemedy) {
  search_.plugin_path = {"/some/where"};
  search_.python_folders = {"/py"};
  EXPECT_THAT(error("cpu"), HasSubstr("\n  /some/where/pjrt_cpu.so\n"));
  EXPECT_THAT(error("cpu"), HasSubstr("TESSERA_PLUGIN_CPU=ON"));
  EXPECT_THAT(error("cuda"), HasSubstr("\n  /py/jax_plugins/*/xla_cuda_plugin.so\n"));
  EXPECT_THAT(error("tpu"), HasSubstr("pip install libtpu"));
  EXPECT_THAT(error("gpu"),
              HasSubstr("unknown plugin 'gpu': give a path to a .so file, or one of cpu"));
  EXPECT_THAT(error("./no.so"), HasSubstr("'./no.so': there is no such file"));
}

TEST(Plugin, MissingLibrariesOfXlaAreToldHowToBeHad) {
  EXPECT_THAT(load_remedy("libtensorflow_cc.so.2: cannot open shared object file"),
              HasSubstr("tessera-setup-sdk"));
  EXPECT_EQ(load_remedy("libother.so: cannot open shared object file"), "");
}

TEST(Plugin, RefusesWhatIsNoPlugin) {
  const fs::path text = fs::path(::testing::TempDir()) / "text.so";
  std::ofstream(text) << "no library";
  EXPECT_THAT(std::string(Plugin::load(text.string()).status().message()),
              HasSubstr("does not load"));
  fs::remove(text);
}

TEST(Plugin, OtherVersionsAreNamedWithTheRemedy) {
  const char* build = std::getenv("TESSERA_BUILD_DIR");
  if (build == nullptr || !fs::exists(fs::path(build) / "tests/test_plugin_0.so")) {
    GTEST_SKIP() << "TESSERA_BUILD_DIR holds no tests/test_plugin_0.so";
  }
  const auto load = [&](const char* file) {
    return std::string(
        Plugin::load((fs::path(build) / "tests" / file).string()).status().message());
  };
  EXPECT_THAT(load("test_plugin_0.so"), HasSubstr("speaks PJRT 0.7 with a table of 200 bytes"));
  EXPECT_THAT(load("test_plugin_0.so"), HasSubstr("Install a newer plugin"));
  EXPECT_THAT(load("test_plugin_1.so"), HasSubstr("speaks PJRT 1.7"));
  EXPECT_THAT(load("test_plugin_1.so"), HasSubstr("Install an older plugin or a newer Tessera"));
}

TEST(Plugin, TellsItsVersionAndAttributes) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto plugin = Plugin::load(*testing::test_plugin_path());
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_THAT(plugin->api_version(), ::testing::StartsWith("0."));
  EXPECT_THAT(plugin->attributes(), ::testing::Contains(::testing::Field(
                                        &NamedValue::name, "stablehlo_current_version")));
}

}  // namespace
}  // namespace tessera::pjrt
