#include "tessera/data/glob.h"

#include <gmock/gmock.h>

#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GlobTest, StarsAndQuestionMarksMatchAsDocumented) {
  EXPECT_TRUE(glob_matches("a/*.txt", "a/b.txt"));
  EXPECT_FALSE(glob_matches("a/*.txt", "a/b/c.txt"));
  EXPECT_TRUE(glob_matches("a/**.txt", "a/b/c.txt"));
  EXPECT_TRUE(glob_matches("a/**/c.txt", "a/c.txt")) << "no folder is a number of folders";
  EXPECT_TRUE(glob_matches("a/**/c.txt", "a/x/y/c.txt"));
  EXPECT_FALSE(glob_matches("a/**/c.txt", "a/xc.txt")) << "**/ ends at a slash";
  EXPECT_TRUE(glob_matches("**", "a/b/c"));
  EXPECT_TRUE(glob_matches("a?c", "abc"));
  EXPECT_FALSE(glob_matches("a?c", "a/c"));
  EXPECT_FALSE(glob_matches("a", "ab"));
  EXPECT_FALSE(glob_matches("ab", "a"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("*b*b", "abab"));
}

TEST(GlobTest, ExpandsToSortedFilesAtAnyDepthWithoutHiddenOnes) {
  const TempFolder temp;
  for (const char* name : {"b.rst.txt", "a/a.rst.txt", "a/b/c.rst.txt", "a/n.py", ".x/h.rst.txt"}) {
    temp.write(name, "x");
  }
  PosixFileSystem files;
  EXPECT_THAT(expand_glob(files, temp / "**.rst.txt").value(),
              ElementsAre(temp / "a/a.rst.txt", temp / "a/b/c.rst.txt", temp / "b.rst.txt"));
  EXPECT_THAT(expand_glob(files, temp / "*/*.rst.txt").value(), ElementsAre(temp / "a/a.rst.txt"));
  EXPECT_THAT(expand_glob(files, temp / "*.nothing").value(), IsEmpty());
  EXPECT_EQ(expand_glob(files, temp / "missing/*.txt").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tessera
