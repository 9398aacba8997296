// What is written comes back: every dtype, every region, every part of the manifest; and Zarr's
// rules hold.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/crc32c.h"
#include "tessera/base/json.h"
#include "tessera/ckpt/sample_state.h"
#include "tessera/ckpt/testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::string message(const Status& status) { return std::string(status.message()); }

bool same_bytes(const HostArray& a, const HostArray& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

class CheckpointTest : public ScratchTest {
 protected:
  std::unique_ptr<CheckpointReader> save_and_open(int64_t step, std::vector<ArraySpec> specs) {
    const Status status = sample::save(manager(), sample::request(step, std::move(specs)));
    EXPECT_TRUE(status.ok()) << status;
    auto reader = manager().open(step);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }
  CheckpointManager manager() { return CheckpointManager(disk_, root_); }
};

TEST_F(CheckpointTest, EveryDtypeComesBackBitForBit) {
  const auto reader = save_and_open(3, sample::specs());
  for (const ArraySpec& spec : sample::specs()) {
    const auto array = reader->read_array(spec.name);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_TRUE(same_bytes(*array, sample::values_of(spec))) << spec.name;
    EXPECT_EQ((*reader->array_info(spec.name))->spec, spec);
  }
}

TEST_F(CheckpointTest, EveryRegionComesBack) {
  const std::vector<ArraySpec> specs = {{"whole", {DType::kF32, {6, 10}}, {4, 5}, {}, {}},
                                        {"pieces", {DType::kU16, {6, 8}}, {4, 8}, {2, 2}, {}},
                                        {"nibbles", {DType::kS4, {5, 3}}, {5, 3}, {}, {}}};
  const auto reader = save_and_open(0, specs);
  for (const ArraySpec& spec : specs) {
    const HostArray all = sample::values_of(spec);
    const Dims& dims = spec.shape.dims;
    for (int64_t first = 0; first < dims[0] * dims[1]; ++first) {
      for (int64_t last = 0; last < dims[0] * dims[1]; ++last) {
        const Dims from = grid_index(first, dims), to = grid_index(last, dims);
        if (to[0] < from[0] || to[1] < from[1]) continue;
        const Box box{from, {to[0] - from[0] + 1, to[1] - from[1] + 1}};
        HostArray part(Shape{spec.shape.dtype, box.dims});
        const Status status = reader->read_region(spec.name, box, part.bytes());
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_TRUE(same_bytes(part, slice(all, box))) << spec.name << to_string(box);
      }
    }
  }
}

TEST_F(CheckpointTest, CompressedArraysComeBackWholeAndInParts) {
  const auto reader = save_and_open(3, sample::compressed_specs());
  for (const ArraySpec& spec : sample::compressed_specs()) {
    const HostArray all = sample::values_of(spec);
    const auto array = reader->read_array(spec.name);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_TRUE(same_bytes(*array, all)) << spec.name;
    EXPECT_EQ((*reader->array_info(spec.name))->spec, spec);
    if (spec.shape.rank() == 0) continue;
    Box part{Dims(spec.shape.rank(), 1), spec.shape.dims};
    for (int64_t& dim : part.dims) dim -= 2;
    HostArray inner(Shape{spec.shape.dtype, part.dims});
    const Status status = reader->read_region(spec.name, part, inner.bytes());
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(same_bytes(inner, slice(all, part))) << spec.name;
  }
  const ArrayRecord& bools = **reader->array_info("params.bools");
  EXPECT_LT(bools.file_bytes(), 4096 / 2) << "a bit in eight says something";
  EXPECT_TRUE(manager().check(3, CheckDepth::kContents).ok());
}

TEST_F(CheckpointTest, OnlyThePiecesThatARegionTouchesAreRead) {
  // A shard of 1 MiB in pieces of 64 KiB: halves of 512 columns find their border between pieces.
  const ArraySpec spec = make_array_spec("w", {DType::kF32, {512, 1024}}, {256, 1024}, 64 << 10);
  ASSERT_EQ(spec.inner_chunk_shape, (Dims{128, 128}));
  const auto reader = save_and_open(0, {spec});
  const Box half{{0, 512}, {512, 512}};
  HostArray part(Shape{DType::kF32, half.dims});
  ASSERT_TRUE(reader->read_region("w", half, part.bytes()).ok());
  EXPECT_TRUE(same_bytes(part, slice(sample::values_of(spec), half)));
  EXPECT_GE(reader->bytes_read(), part.shape().host_bytes());
  EXPECT_LE(reader->bytes_read(), part.shape().host_bytes() * 105 / 100);
}

TEST_F(CheckpointTest, WhatRegionsShareIsReadOnce) {
  const ArraySpec spec = make_array_spec("w", {DType::kS16, {512, 1024}}, {256, 1024}, 64 << 10);
  ArraySpec whole = spec;
  whole.name = "whole";
  whole.inner_chunk_shape.clear();
  ArraySpec compressed = spec;
  compressed.name = "compressed";
  compressed.zstd_level = 1;
  const auto reader = save_and_open(0, {spec, whole, compressed});
  for (const ArraySpec& stored : {spec, whole, compressed}) {
    const HostArray all = sample::values_of(stored);
    // Two replicas of a part, one that shares pieces with it, one apart, one without elements.
    const std::vector<Box> boxes = {{{100, 0}, {300, 700}},
                                    {{100, 0}, {300, 700}},
                                    {{399, 699}, {113, 325}},
                                    {{0, 1000}, {7, 24}},
                                    {{3, 3}, {0, 5}}};
    std::vector<HostArray> parts;
    std::vector<RegionRead> regions;
    for (const Box& box : boxes) parts.emplace_back(Shape{stored.shape.dtype, box.dims});
    for (size_t i = 0; i < boxes.size(); ++i)
      regions.push_back({stored.name, boxes[i], parts[i].bytes()});
    const auto reads = reader->plan(regions);
    ASSERT_TRUE(reads.ok()) << reads.status();
    EXPECT_EQ(reads->size(), 2U) << "one a chunk";
    const int64_t before = reader->bytes_read();
    for (const auto& read : *reads) ASSERT_TRUE(reader->read(read).ok());
    const int64_t stored_bytes = (*reader->array_info(stored.name))->file_bytes();
    EXPECT_LE(reader->bytes_read() - before, stored_bytes);
    for (size_t i = 0; i < boxes.size(); ++i)
      EXPECT_TRUE(same_bytes(parts[i], slice(all, boxes[i]))) << stored.name << i;
  }
  HostArray one(Shape{DType::kS16, {1, 1}});
  const std::vector<RegionRead> mixed = {{"w", {{0, 0}, {1, 1}}, one.bytes()},
                                         {"whole", {{0, 0}, {1, 1}}, one.bytes()}};
  EXPECT_FALSE(reader->plan(mixed).ok());
}

// Larger than what is read at once.
TEST_F(CheckpointTest, LargeChunksAreReadInPartsAndTheirDamageIsFound) {
  const TempFolder folder(TempFolder::kDisk);
  PosixFileSystem disk;
  const CheckpointManager manager(disk, folder / "checkpoints");
  std::vector<ArraySpec> specs;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kS4}) {
    const std::string name(dtype_name(dtype));
    const Shape shape{dtype, {2048, 2048}};
    specs.push_back(make_array_spec(name + "-pieces", shape, {1024, 2048}));
    specs.push_back(make_array_spec(name + "-whole", shape, {1024, 2048}, 1 << 30));
    specs.push_back(make_array_spec(name + "-compressed", shape, {1024, 2048}));
    specs.back().zstd_level = 1;
  }
  ASSERT_TRUE(sample::save(manager, sample::request(1, specs)).ok());
  const auto read_all = [&]() -> Status {
    ASSIGN_OR_RETURN(const auto reader, manager.open(1));
    for (const ArraySpec& spec : specs) {
      HostArray array(spec.shape);
      const RegionRead region{spec.name, {{0, 0}, spec.shape.dims}, array.bytes()};
      ASSIGN_OR_RETURN(const auto reads, reader->plan({&region, 1}));
      for (const auto& read : reads) RETURN_IF_ERROR(reader->read(read));
      EXPECT_TRUE(same_bytes(array, sample::values_of(spec))) << spec.name;
    }
    return absl::OkStatus();
  };
  const Status good_status = read_all();
  EXPECT_TRUE(good_status.ok()) << good_status;
  for (const ArraySpec& spec : specs) {
    const std::string chunk = str_cat("checkpoints/1/state/", spec.name, "/c.1.0");
    const std::string good = folder.read(chunk);
    std::string bad = good;
    bad[bad.size() * 2 / 3] ^= 1;
    folder.write(chunk, bad);
    const Status status = read_all();
    EXPECT_TRUE(absl::IsDataLoss(status)) << spec.name << ": " << status;
    EXPECT_THAT(message(status), HasSubstr(str_cat("parameter ", spec.name)));
    folder.write(chunk, good);
  }
}

TEST_F(CheckpointTest, TheManifestKeepsWhatItWasGiven) {
  const SaveRequest request = sample::request(41, sample::few_specs());
  ASSERT_TRUE(sample::save(manager(), request).ok());
  const auto reader = manager().open(41);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const Manifest& manifest = (*reader)->manifest();
  EXPECT_EQ(manifest.step, 41);
  EXPECT_EQ(manifest.saved_unix_s, 1'700'000'000);
  for (const auto field : {&Manifest::program_json, &Manifest::mesh_json, &Manifest::rules_json,
                           &Manifest::config_json, &Manifest::data_json, &Manifest::rng_json}) {
    EXPECT_EQ(*parse_json(manifest.*field, ""), *parse_json(request.manifest.*field, ""));
  }
  ASSERT_EQ(manifest.arrays.size(), 3U);
  EXPECT_EQ(manifest.arrays[1].spec.name, "params.w");
  EXPECT_EQ(manifest.arrays[1].spec.dim_names, (std::vector<std::string>{"embed", "mlp"}));
}

TEST_F(CheckpointTest, ArraysAreWhatZarrAsksFor) {
  save_and_open(5, sample::few_specs());
  const auto json_of = [&](const std::string& path) {
    return *parse_json(*disk_.read_file(join_path(root_, path)), path);
  };
  EXPECT_EQ(json_of("5/state/zarr.json"), Json({{"zarr_format", 3}, {"node_type", "group"}}));
  EXPECT_EQ(json_of("5/state/params/zarr.json")["node_type"], "group");
  const Json w = json_of("5/state/params/w/zarr.json");
  EXPECT_EQ(w["node_type"], "array");
  EXPECT_EQ(w["shape"], Json({4, 4}));
  EXPECT_EQ(w["chunk_grid"]["configuration"]["chunk_shape"], Json({2, 4}));
  EXPECT_EQ(w["codecs"][0]["name"], "sharding_indexed");
  EXPECT_EQ(w["dimension_names"], Json({"embed", "mlp"}));
  EXPECT_EQ(json_of("5/state/params/b/zarr.json")["data_type"], "bfloat16");
  EXPECT_TRUE(disk_.exists(join_path(root_, "5/state/params/w/c.1.0")));
  EXPECT_TRUE(disk_.exists(join_path(root_, "5/state/step/c")));
}

TEST_F(CheckpointTest, AbsentArraysAndRegionsAreErrorsThatSayWhatThereIs) {
  const auto reader = save_and_open(5, sample::few_specs());
  EXPECT_THAT(message(reader->read_array("params.ww").status()),
              HasSubstr("did you mean params.w?"));
  std::vector<std::byte> out(16);
  EXPECT_THAT(message(reader->read_region("params.b", {{2}, {4}}, out)),
              HasSubstr("bf16[4] has no region [2:6]"));
  EXPECT_THAT(message(reader->read_region("params.b", {{0}, {4}}, out)),
              HasSubstr("takes 8 bytes, not 16"));
  EXPECT_THAT(message(manager().open(6).status()),
              HasSubstr("no checkpoint of step 6; there are 5"));
}

TEST_F(CheckpointTest, WrongShardsAreRefused) {
  const auto writer = CheckpointWriter::begin(disk_, root_, 1, sample::few_specs());
  ASSERT_TRUE(writer.ok()) << writer.status();
  std::vector<std::byte> bytes(32);
  EXPECT_THAT(message((*writer)->write_shard("params.x", {{0}, {4}}, bytes)),
              HasSubstr("params.x"));
  EXPECT_THAT(message((*writer)->write_shard("params.w", {{1, 0}, {2, 4}}, bytes)),
              HasSubstr("[1:3, 0:4] of params.w f32[4,4] is not one of its chunks of [2,4]"));
  EXPECT_THAT(message((*writer)->write_shard("params.b", {{0}, {4}}, bytes)),
              HasSubstr("has 32 bytes instead of 8"));
  ASSERT_TRUE((*writer)->write_shard("params.w", {{0, 0}, {2, 4}}, bytes).ok());
  EXPECT_THAT(message((*writer)->write_shard("params.w", {{0, 0}, {2, 4}}, bytes)),
              HasSubstr("written twice"));
  EXPECT_THAT(message((*writer)->commit({})), HasSubstr("was not written"));
}

TEST_F(CheckpointTest, WrongSpecsAreRefused) {
  const auto begin = [&](std::vector<ArraySpec> specs) {
    return message(CheckpointWriter::begin(disk_, root_, 1, std::move(specs)).status());
  };
  const Shape shape{DType::kF32, {4, 4}};
  EXPECT_THAT(begin({{"a..b", shape, {4, 4}, {}, {}}}), HasSubstr("'a..b' cannot name an array"));
  EXPECT_THAT(begin({{"../a", shape, {4, 4}, {}, {}}}), HasSubstr("cannot name an array"));
  EXPECT_THAT(begin({{"", shape, {4, 4}, {}, {}}}), HasSubstr("cannot name an array"));
  EXPECT_THAT(begin({{"a", shape, {4}, {}, {}}}), HasSubstr("chunks of rank 1"));
  EXPECT_THAT(begin({{"a", shape, {4, 8}, {}, {}}}), HasSubstr("cannot have chunks of [4,8]"));
  EXPECT_THAT(begin({{"a", shape, {4, 4}, {3, 4}, {}}}), HasSubstr("do not divide"));
  EXPECT_THAT(begin({{"a", shape, {4, 4}, {}, {"x"}}}), HasSubstr("1 names of dimensions"));
  EXPECT_THAT(begin({{"a", shape, {4, 4}, {}, {}}, {"a", shape, {4, 4}, {}, {}}}),
              HasSubstr("two arrays are named a"));
  EXPECT_THAT(begin({{"a", shape, {4, 4}, {}, {}}, {"a.b", shape, {4, 4}, {}, {}}}),
              HasSubstr("a is an array and the start of another's name"));
}

TEST_F(CheckpointTest, SeveralProcessesWriteOneCheckpoint) {
  const SaveRequest request = sample::request(9, sample::few_specs());
  const auto leader = CheckpointWriter::begin(disk_, root_, 9, request.arrays);
  ASSERT_TRUE(leader.ok()) << leader.status();
  const auto other = CheckpointWriter::begin(disk_, root_, 9, request.arrays, {.leads = false});
  ASSERT_TRUE(other.ok()) << other.status();
  for (size_t i = 0; i < request.shards.size(); ++i) {
    const HostShard& shard = request.shards[i];
    const auto& writer = i % 2 == 0 ? *leader : *other;
    ASSERT_TRUE(writer->write_shard(shard.array, shard.box, shard.bytes).ok());
  }
  EXPECT_FALSE((*other)->commit(request.manifest).ok());
  ASSERT_TRUE((*leader)->adopt((*other)->written()).ok());
  ASSERT_TRUE((*leader)->commit(request.manifest).ok());
  EXPECT_TRUE(manager().check(9, CheckDepth::kContents).ok());
}

TEST_F(CheckpointTest, ANewerFormatIsRefusedAndKept) {
  save_and_open(2, sample::few_specs());
  const std::string path = join_path(root_, "2/checkpoint.json");
  Manifest manifest = manager().open(2).value()->manifest();
  std::string text = *manifest_to_text(manifest);
  const auto reseal = [&](std::string_view from, std::string_view to) {
    std::string changed = text.substr(0, text.rfind(",\n\"manifest_crc32c\""));
    changed.replace(changed.find(from), from.size(), to);
    const uint32_t crc = crc32c(std::as_bytes(std::span(changed)));
    char hex[16];
    std::snprintf(hex, sizeof(hex), "%08x", crc);
    return changed + ",\n\"manifest_crc32c\": \"" + hex + "\"\n}\n";
  };
  const Status version =
      manifest_from_text(reseal("_version\": 1", "_version\": 2"), path).status();
  EXPECT_TRUE(absl::IsUnimplemented(version)) << version;
  EXPECT_THAT(message(version), HasSubstr("format version 2"));
  const std::string featured = reseal("features\": []", "features\": [\"lz4\"]");
  const Status feature = manifest_from_text(featured, path).status();
  EXPECT_TRUE(absl::IsUnimplemented(feature)) << feature;
  EXPECT_THAT(message(feature), HasSubstr("'lz4'"));
  EXPECT_TRUE(manifest_from_text(reseal("\"step\"", "\"later_key\": 1,\n\"step\""), path).ok())
      << "keys that a later version adds are passed over";

  ASSERT_TRUE(disk_.write_file_atomic(path, featured).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(manager().begin(2, sample::few_specs()).status()))
      << "what this program cannot read is not for it to remove";
}

/// tessera/ckpt/testdata/version_1 was written by the first version of the format. It stays as it
/// is.
TEST_F(CheckpointTest, TheFirstVersionsCheckpointIsReadForEver) {
  const char* source = std::getenv("TESSERA_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "ctest sets it; by hand: TESSERA_SOURCE_DIR=.";
  const std::string golden = join_path(source, "tessera/ckpt/testdata/version_1");
  const CheckpointManager manager(disk_, golden);
  if (std::getenv("TESSERA_MAKE_GOLDEN") != nullptr && !disk_.exists(golden)) {
    ASSERT_TRUE(sample::save(manager, sample::request(7, sample::specs())).ok());
  }
  const Status good = manager.check(7, CheckDepth::kContents);
  ASSERT_TRUE(good.ok()) << good;
  const auto reader = manager.open(7);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->manifest().data_json, R"({"epoch":0,"index":640})");
  for (const ArraySpec& spec : sample::specs()) {
    const auto array = (*reader)->read_array(spec.name);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_TRUE(same_bytes(*array, sample::values_of(spec))) << spec.name;
  }
}

}  // namespace
}  // namespace tessera
