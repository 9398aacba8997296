#include "tessera/sharding/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error(const Result<Mesh>& mesh) { return std::string(mesh.status().message()); }

TEST(Mesh, FillsInTheOneOpenAxis) {
  const auto mesh = Mesh::create({{"data", 2}, {"fsdp", -1}, {"tensor", 2}}, 16);
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  EXPECT_EQ(mesh->axis_size("fsdp"), 4);
  EXPECT_EQ(to_string(*mesh), "data=2, fsdp=4, tensor=2");
}

TEST(Mesh, LaysDevicesOutWithTheLastAxisFastest) {
  const auto mesh = Mesh::create({{"data", 2}, {"fsdp", 3}}, 6);
  ASSERT_TRUE(mesh.ok());
  EXPECT_THAT(mesh->coordinates(4), ElementsAre(1, 1));
  EXPECT_THAT(mesh->coordinates(2), ElementsAre(0, 2));
}

TEST(Mesh, ComparesByValue) {
  EXPECT_EQ(*Mesh::create({{"data", 2}}, 2), *Mesh::create({{"data", -1}}, 2));
  EXPECT_FALSE(*Mesh::create({{"data", 2}}, 2) == *Mesh::create({{"fsdp", 2}}, 2));
  EXPECT_FALSE(*Mesh::create({{"data", 2}}, {0, 1}) == *Mesh::create({{"data", 2}}, {1, 0}));
}

TEST(Mesh, ErrorsNameAxesProductAndDevices) {
  EXPECT_THAT(error(Mesh::create({{"data", 2}, {"fsdp", 3}}, 8)),
              HasSubstr("product of data=2, fsdp=3 is 6, but there are 8 devices"));
  EXPECT_THAT(error(Mesh::create({{"data", -1}, {"fsdp", -1}}, 8)),
              HasSubstr("data and fsdp are both -1"));
  EXPECT_THAT(error(Mesh::create({{"data", -1}, {"fsdp", 3}}, 8)),
              HasSubstr("data cannot be filled in: 8 devices are not divisible by 3"));
  EXPECT_THAT(error(Mesh::create({{"data", -1}, {"fsdp", 16}}, 8)), HasSubstr("cannot be filled"));
  EXPECT_THAT(error(Mesh::create({{"data", 0}}, 8)), HasSubstr("axis data has size 0"));
  EXPECT_THAT(error(Mesh::create({{"data", 2}, {"data", 4}}, 8)), HasSubstr("named 'data'"));
  EXPECT_THAT(error(Mesh::create({{"data", 2}}, {3, 3})), HasSubstr("device 3 occurs twice"));
  EXPECT_THAT(error(Mesh::create({{"data", 1}}, int64_t{0})), HasSubstr("no devices"));
}

}  // namespace
}  // namespace tessera
