#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/ckpt/saver.h"
#include "tessera/ckpt/writer.h"
#include "tessera/ir/host_array.h"

// A small state for tests: every dtype, chunks that stick out, pieces, a scalar, an empty array.
// Its values follow from the arrays' names, so any program that reads a checkpoint of it knows what
// must be there.

namespace tessera::sample {

/// Any bits, from a linear congruential sequence that starts at a sum over the name: NaNs and
/// denormals too, but only 0 and 1 for bool, and four bits for u4 and s4.
inline HostArray values_of(const ArraySpec& spec) {
  HostArray array(spec.shape);
  uint32_t state = 1;
  for (const char c : spec.name) state = state * 31 + static_cast<unsigned char>(c);
  for (std::byte& byte : array.bytes()) {
    state = state * 1664525 + 1013904223;
    const uint8_t bits = static_cast<uint8_t>(state >> 24);
    switch (spec.shape.dtype) {
      case DType::kBool:
        byte = static_cast<std::byte>(bits & 1);
        break;
      case DType::kU4:
        byte = static_cast<std::byte>(bits & 15);
        break;
      case DType::kS4:
        byte = static_cast<std::byte>((bits & 15) ^ ((bits & 8) != 0 ? 0xF0 : 0));
        break;
      default:
        byte = static_cast<std::byte>(bits);
    }
  }
  return array;
}

inline std::vector<ArraySpec> specs() {
  std::vector<ArraySpec> specs;
  for (const DType dtype : all_dtypes()) {
    const std::string name(dtype_name(dtype));
    specs.push_back({"params." + name + ".whole", {dtype, {6, 10}}, {4, 5}, {}, {}});
    specs.push_back({"params." + name + ".pieces", {dtype, {6, 12}}, {4, 12}, {2, 3}, {}});
  }
  specs.push_back({"params.layers.mlp.up",
                   {DType::kBF16, {3, 4, 6}},
                   {3, 2, 6},
                   {},
                   {"layers", "embed", "mlp"}});
  specs.push_back({"optimizer.count", {DType::kS32, {}}, {}, {}, {}});
  specs.push_back({"optimizer.empty", {DType::kF32, {0, 4}}, {1, 4}, {}, {}});
  specs.push_back({"rng", {DType::kU32, {2}}, {2}, {}, {}});
  return specs;
}

/// Compressed ones: whole and in pieces, that stick out, that need a conversion, a scalar.
inline std::vector<ArraySpec> compressed_specs() {
  return {{"params.whole", {DType::kF32, {6, 10}}, {4, 5}, {}, {}, 3},
          {"params.pieces", {DType::kBF16, {6, 12}}, {4, 12}, {2, 3}, {}, 1},
          {"params.nibbles", {DType::kS4, {40, 30}}, {20, 30}, {5, 30}, {}, 19},
          {"params.bools", {DType::kBool, {4096}}, {4096}, {512}, {}, 3},
          {"count", {DType::kS32, {}}, {}, {}, {}, 3},
          {"plain", {DType::kF32, {4, 4}}, {2, 4}, {1, 2}, {}, 0}};
}

/// A small one, for tests that repeat many times.
inline std::vector<ArraySpec> few_specs() {
  return {{"params.w", {DType::kF32, {4, 4}}, {2, 4}, {1, 2}, {"embed", "mlp"}},
          {"params.b", {DType::kBF16, {4}}, {4}, {}, {}},
          {"step", {DType::kS64, {}}, {}, {}, {}}};
}

inline SaveRequest request(int64_t step, std::vector<ArraySpec> arrays) {
  SaveRequest request;
  request.step = step;
  request.manifest.saved_unix_s = 1'700'000'000;
  request.manifest.program_json = R"({"tessera": "0.1.0"})";
  request.manifest.mesh_json = R"({"data": 1, "fsdp": 2})";
  request.manifest.rules_json = R"([["embed", "fsdp"]])";
  request.manifest.config_json = R"({"seed": 7, "model": {"layers": 3}})";
  request.manifest.data_json = R"({"epoch": 0, "index": 640})";
  request.manifest.rng_json = R"([1, 2])";
  for (const ArraySpec& spec : arrays) {
    const HostArray values = values_of(spec);
    const Dims grid = spec.grid();
    for (int64_t i = 0; i < spec.chunk_count(); ++i) {
      const Box box = spec.chunk_box(grid_index(i, grid));
      const auto part = std::make_shared<HostArray>(slice(values, box));
      request.shards.push_back({spec.name, box, std::as_const(*part).bytes(), part});
    }
  }
  request.arrays = std::move(arrays);
  return request;
}

/// Saves it on this thread.
inline Status save(const CheckpointManager& manager, const SaveRequest& request) {
  ASSIGN_OR_RETURN(const auto writer, manager.begin(request.step, request.arrays));
  for (const HostShard& shard : request.shards) {
    RETURN_IF_ERROR(writer->write_shard(shard.array, shard.box, shard.bytes));
  }
  return writer->commit(request.manifest);
}

}  // namespace tessera::sample
