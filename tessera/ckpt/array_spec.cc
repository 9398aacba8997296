#include "tessera/ckpt/array_spec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tessera/base/json.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "chunks are stored as the host has them");

constexpr int64_t kChecksumBytes = 4;
constexpr int64_t kIndexEntryBytes = 16;

constexpr std::array<std::string_view, 17> kZarrTypes = {
    "bool",        "int4",     "int8",    "int16",   "int32",  "int64",
    "uint8",       "uint8",    "uint16",  "uint32",  "uint64", "float8_e4m3fn",
    "float8_e5m2", "bfloat16", "float16", "float32", "float64"};

Status check_name(std::string_view name) {
  bool at_start = true;
  for (const char c : name) {
    if (c == '.') {
      if (at_start) break;
      at_start = true;
    } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-') {
      at_start = false;
    } else {
      at_start = true;
      break;
    }
  }
  if (!at_start) return absl::OkStatus();
  return invalid_argument("checkpoint: '", name,
                          "' cannot name an array: use letters, digits, '_' and '-', with single "
                          "dots between the parts");
}

int64_t product(std::span<const int64_t> dims) {
  int64_t result = 1;
  for (const int64_t dim : dims) result *= dim;
  return result;
}

// The even dimension of `piece` that the whole array is cut into the fewest parts along; of several
// the largest one. Null: none is even.
int64_t* dim_to_halve(const Dims& whole, Dims& piece) {
  const auto parts = [&](size_t i) { return whole[i] / piece[i]; };
  std::optional<size_t> best;
  for (size_t i = 0; i < piece.size(); ++i) {
    if (piece[i] % 2 != 0) continue;
    if (!best || std::pair(parts(i), -piece[i]) < std::pair(parts(*best), -piece[*best])) best = i;
  }
  return best ? &piece[*best] : nullptr;
}

Json codecs_of_piece(const ArraySpec& spec) {
  const DType dtype = spec.shape.dtype;
  Json bytes = {{"name", "bytes"}};
  if (dtype_host_bytes(dtype) > 1) bytes["configuration"] = {{"endian", "little"}};
  Json codecs = Json::array({bytes});
  if (spec.zstd_level > 0) {
    codecs.push_back(
        {{"name", "zstd"}, {"configuration", {{"level", spec.zstd_level}, {"checksum", false}}}});
  }
  codecs.push_back({{"name", "crc32c"}});
  return codecs;
}

Json codecs_of(const ArraySpec& spec) {
  if (spec.inner_chunk_shape.empty()) return codecs_of_piece(spec);
  const Json index = Json::array(
      {{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}, {{"name", "crc32c"}}});
  return Json::array({{{"name", "sharding_indexed"},
                       {"configuration",
                        {{"chunk_shape", spec.inner_chunk_shape},
                         {"codecs", codecs_of_piece(spec)},
                         {"index_codecs", index},
                         {"index_location", "end"}}}}});
}

Json fill_value_of(DType dtype) {
  if (is_bool(dtype)) return false;
  if (is_floating(dtype)) return 0.0;
  return 0;
}

}  // namespace

Status ArraySpec::validate() const {
  RETURN_IF_ERROR(check_name(name));
  const size_t rank = shape.dims.size();
  if (chunk_shape.size() != rank) {
    return invalid_argument("checkpoint: ", name, " ", to_string(shape), " has chunks of rank ",
                            chunk_shape.size(), ": ", dims_to_string(chunk_shape));
  }
  if (!dim_names.empty() && dim_names.size() != rank) {
    return invalid_argument("checkpoint: ", name, " ", to_string(shape), " has ", dim_names.size(),
                            " names of dimensions");
  }
  if (!inner_chunk_shape.empty() && inner_chunk_shape.size() != rank) {
    return invalid_argument("checkpoint: ", name, " ", to_string(shape), " has pieces of rank ",
                            inner_chunk_shape.size());
  }
  if (zstd_level < 0 || zstd_level > 19) {
    return invalid_argument("checkpoint: ", name, ": the zstd level is ", zstd_level,
                            "; it must be from 1 to 19, or 0 for none");
  }
  for (size_t i = 0; i < rank; ++i) {
    if (shape.dims[i] < 0 || chunk_shape[i] < 1 ||
        chunk_shape[i] > std::max<int64_t>(shape.dims[i], 1)) {
      return invalid_argument("checkpoint: ", name, " ", to_string(shape),
                              " cannot have chunks of ", dims_to_string(chunk_shape),
                              " (dimension ", i, ")");
    }
    if (inner_chunk_shape.empty()) continue;
    if (inner_chunk_shape[i] < 1 || chunk_shape[i] % inner_chunk_shape[i] != 0) {
      return invalid_argument("checkpoint: ", name, " ", to_string(shape), ": pieces of ",
                              dims_to_string(inner_chunk_shape), " do not divide chunks of ",
                              dims_to_string(chunk_shape), " (dimension ", i, ")");
    }
  }
  return absl::OkStatus();
}

int64_t ArraySpec::chunk_count() const { return product(grid()); }

Box ArraySpec::chunk_box(std::span<const int64_t> index) const {
  Box box{Dims(index.size()), Dims(index.size())};
  for (size_t i = 0; i < index.size(); ++i) {
    box.start[i] = index[i] * chunk_shape[i];
    box.dims[i] = std::min(chunk_shape[i], shape.dims[i] - box.start[i]);
  }
  return box;
}

int64_t ArraySpec::piece_bytes() const {
  return product(piece_shape()) * dtype_host_bytes(shape.dtype);
}

int64_t ArraySpec::pieces_per_chunk() const {
  return product(chunk_shape) / product(piece_shape());
}

int64_t ArraySpec::chunk_file_bytes() const {
  const int64_t pieces = pieces_per_chunk();
  const int64_t data = pieces * (piece_bytes() + kChecksumBytes);
  if (inner_chunk_shape.empty()) return data;
  return data + pieces * kIndexEntryBytes + kChecksumBytes;
}

ArraySpec make_array_spec(std::string name, Shape shape, Dims shard_dims, int64_t piece_bytes) {
  for (int64_t& dim : shard_dims) dim = std::max<int64_t>(dim, 1);
  Dims piece = shard_dims;
  int64_t bytes = product(shard_dims) * dtype_host_bytes(shape.dtype);
  while (bytes > piece_bytes) {
    int64_t* dim = dim_to_halve(shape.dims, piece);
    if (dim == nullptr) break;
    *dim /= 2;
    bytes /= 2;
  }
  ArraySpec spec{std::move(name), std::move(shape), std::move(shard_dims), {}, {}, 0};
  if (piece != spec.chunk_shape) spec.inner_chunk_shape = std::move(piece);
  return spec;
}

std::string array_folder(std::string_view name) {
  std::string folder = str_cat("state/", name);
  std::replace(folder.begin() + 6, folder.end(), '.', '/');
  return folder;
}

std::vector<std::string> groups_around(std::string_view name) {
  std::vector<std::string> groups;
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    groups.emplace_back(name.substr(0, dot));
  }
  return groups;
}

std::string chunk_file_name(std::span<const int64_t> index) {
  std::string name = "c";
  for (const int64_t i : index) str_append(&name, ".", i);
  return name;
}

std::string zarr_array_json(const ArraySpec& spec) {
  Json json = {
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", spec.shape.dims},
      {"data_type", zarr_data_type(spec.shape.dtype)},
      {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", spec.chunk_shape}}}}},
      {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "."}}}}},
      {"fill_value", fill_value_of(spec.shape.dtype)},
      {"codecs", codecs_of(spec)},
  };
  if (!spec.dim_names.empty()) json["dimension_names"] = spec.dim_names;
  json["attributes"] = {{"tessera_dtype", dtype_name(spec.shape.dtype)}};
  return json.dump(1) + "\n";
}

std::string_view zarr_group_json() { return "{\"zarr_format\": 3, \"node_type\": \"group\"}\n"; }

std::string_view zarr_data_type(DType dtype) { return kZarrTypes[static_cast<size_t>(dtype)]; }

bool needs_conversion(DType dtype) { return dtype == DType::kS4; }

void host_to_stored(DType dtype, std::span<std::byte> bytes) {
  if (!needs_conversion(dtype)) return;
  for (std::byte& byte : bytes) byte &= std::byte{0x0F};
}

void stored_to_host(DType dtype, std::span<std::byte> bytes) {
  if (!needs_conversion(dtype)) return;
  for (std::byte& byte : bytes) {
    if ((byte & std::byte{0x08}) != std::byte{0}) byte |= std::byte{0xF0};
  }
}

}  // namespace tessera
