#include "tessera/base/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Tree<int> tree(std::vector<std::pair<std::string, int>> leaves) {
  Tree<int> result;
  for (auto& [path, value] : leaves) CHECK(result.add(path, value).ok());
  return result;
}

TEST(Tree, KeepsTheOrderOfInsertion) {
  EXPECT_THAT(tree({{"b.y", 1}, {"a", 2}, {"b.x", 3}}),
              ElementsAre(Pair("b.y", 1), Pair("a", 2), Pair("b.x", 3)));
}

TEST(Tree, TakesSubtreesAndPutsThemBack) {
  const Tree<int> whole = tree({{"p.y", 1}, {"q", 2}, {"p.x", 3}, {"pp.z", 4}});
  EXPECT_THAT(whole.subtree("p"), ElementsAre(Pair("y", 1), Pair("x", 3)));
  Tree<int> other;
  ASSERT_TRUE(other.append("p", whole.subtree("p")).ok());
  EXPECT_THAT(other, ElementsAre(Pair("p.y", 1), Pair("p.x", 3)));
}

TEST(Tree, MapsValues) {
  const auto doubled = tree({{"a", 2}}).map([](const std::string&, int v) { return v * 2.0; });
  EXPECT_THAT(doubled, ElementsAre(Pair("a", 4.0)));
}

TEST(Tree, RefusesPathsThatAreLeafAndBranch) {
  Tree<int> t = tree({{"a.b", 1}, {"a-c", 2}});
  EXPECT_THAT(std::string(t.add("a.b", 1).message()), HasSubstr("'a.b' exists already"));
  EXPECT_THAT(std::string(t.add("a", 1).message()), HasSubstr("'a.b' is below it"));
  EXPECT_THAT(std::string(t.add("a.b.c", 1).message()), HasSubstr("below the leaf 'a.b'"));
  for (const char* bad : {"", ".a", "a.", "a..b"}) EXPECT_FALSE(t.add(bad, 1).ok()) << bad;
  EXPECT_TRUE(t.add("ab", 1).ok());
}

}  // namespace
}  // namespace tessera
