#include "tessera/ckpt/manifest.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_format.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/json.h"

namespace tessera {
namespace {

constexpr std::string_view kFormatName = "tessera-checkpoint";
constexpr std::string_view kTrailerStart = ",\n\"manifest_crc32c\": \"";
constexpr std::string_view kTrailerEnd = "\"\n}\n";
constexpr std::string_view kZstdFeature = "zstd";
constexpr size_t kHexDigits = 8;
constexpr size_t kTrailerBytes = kTrailerStart.size() + kHexDigits + kTrailerEnd.size();

struct OpaqueField {
  std::string_view key;
  std::string Manifest::*text;
};
constexpr OpaqueField kOpaqueFields[] = {
    {"program", &Manifest::program_json}, {"mesh", &Manifest::mesh_json},
    {"rules", &Manifest::rules_json},     {"config", &Manifest::config_json},
    {"data", &Manifest::data_json},       {"rng", &Manifest::rng_json},
    {"metrics", &Manifest::metrics_json},
};

std::string hex(uint32_t value) { return absl::StrFormat("%08x", value); }

/// Only what hex() gives: upper case would hide a flipped bit.
Result<uint32_t> from_hex(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (hex(value) == text) return value;
  return invalid_argument("'", text, "' is not a checksum of eight hexadecimal digits");
}

Json record_to_json(const ArrayRecord& record) {
  const ArraySpec& spec = record.spec;
  Json json = {{"dtype", dtype_name(spec.shape.dtype)},
               {"shape", spec.shape.dims},
               {"chunk_shape", spec.chunk_shape}};
  if (!spec.inner_chunk_shape.empty()) json["inner_chunk_shape"] = spec.inner_chunk_shape;
  if (!spec.dim_names.empty()) json["dim_names"] = spec.dim_names;
  if (spec.zstd_level > 0) {
    json["zstd_level"] = spec.zstd_level;
    json["chunk_file_bytes"] = record.chunk_file_bytes;
  }
  json["metadata_crc32c"] = hex(record.metadata_crc32c);
  std::vector<std::string> checksums;
  for (const uint32_t checksum : record.chunk_checksums) checksums.push_back(hex(checksum));
  json["chunk_checksums"] = checksums;
  return json;
}

/// Throws nlohmann's exceptions where a key is missing or has another type.
Result<ArrayRecord> record_from_json(const std::string& name, const Json& json) {
  ArrayRecord record;
  record.spec.name = name;
  ASSIGN_OR_RETURN(record.spec.shape.dtype, parse_dtype(json.at("dtype").get<std::string>()));
  record.spec.shape.dims = json.at("shape").get<Dims>();
  record.spec.chunk_shape = json.at("chunk_shape").get<Dims>();
  record.spec.inner_chunk_shape = json.value("inner_chunk_shape", Dims());
  record.spec.dim_names = json.value("dim_names", std::vector<std::string>());
  record.spec.zstd_level = json.value("zstd_level", 0);
  record.chunk_file_bytes = json.value("chunk_file_bytes", std::vector<int64_t>());
  RETURN_IF_ERROR(record.spec.validate());
  ASSIGN_OR_RETURN(record.metadata_crc32c, from_hex(json.at("metadata_crc32c").get<std::string>()));
  for (const Json& checksum : json.at("chunk_checksums")) {
    ASSIGN_OR_RETURN(const uint32_t value, from_hex(checksum.get<std::string>()));
    record.chunk_checksums.push_back(value);
  }
  if (static_cast<int64_t>(record.chunk_checksums.size()) != record.spec.chunk_count()) {
    return invalid_argument(name, ": ", record.chunk_checksums.size(), " checksums for ",
                            record.spec.chunk_count(), " chunks");
  }
  if (record.chunk_file_bytes.size() !=
      (record.spec.zstd_level > 0 ? record.chunk_checksums.size() : 0)) {
    return invalid_argument(name, ": ", record.chunk_file_bytes.size(), " sizes for ",
                            record.spec.chunk_count(), " chunks");
  }
  return record;
}

/// Everything but the trailer, whose checksum must match.
Result<std::string_view> check_trailer(std::string_view text, std::string_view source) {
  if (text.size() < kTrailerBytes) return data_loss(source, ": is cut short");
  const std::string_view body = text.substr(0, text.size() - kTrailerBytes);
  const std::string_view trailer = text.substr(body.size());
  const Result<uint32_t> stored = from_hex(trailer.substr(kTrailerStart.size(), kHexDigits));
  if (!trailer.starts_with(kTrailerStart) || !trailer.ends_with(kTrailerEnd) || !stored.ok()) {
    return data_loss(source, ": does not end with its checksum: it is cut short or was changed");
  }
  const uint32_t found = crc32c(std::as_bytes(std::span(body)));
  if (found == *stored) return body;
  return data_loss(source, ": has CRC-32C ", hex(found), ", but was written with ", hex(*stored),
                   ": it was changed or is damaged");
}

Status check_version(const Json& json, std::string_view source) {
  if (json.value("format", "") != kFormatName) {
    return data_loss(source, ": is not a checkpoint's manifest (no \"format\": \"", kFormatName,
                     "\")");
  }
  const int version = json.at("format_version").get<int>();
  if (version > kCheckpointFormatVersion) {
    return unimplemented(source, ": has format version ", version, ", this program reads up to ",
                         kCheckpointFormatVersion,
                         ": use the program that wrote it, or a newer one");
  }
  for (const Json& feature : json.at("required_features")) {
    if (feature == kZstdFeature) continue;
    return unimplemented(source, ": needs the feature '", feature.get<std::string>(),
                         "', which this program does not know: use a newer one");
  }
  return absl::OkStatus();
}

Result<Manifest> manifest_from_json(const Json& json) {
  Manifest manifest;
  manifest.step = json.at("step").get<int64_t>();
  manifest.saved_unix_s = json.value("saved_unix_s", int64_t{0});
  for (const OpaqueField& field : kOpaqueFields) {
    if (json.contains(field.key)) manifest.*field.text = json[std::string(field.key)].dump();
  }
  for (const auto& [name, array] : json.at("state").items()) {
    ASSIGN_OR_RETURN(ArrayRecord record, record_from_json(name, array));
    manifest.arrays.push_back(std::move(record));
  }
  std::sort(manifest.arrays.begin(), manifest.arrays.end(),
            [](const auto& a, const auto& b) { return a.spec.name < b.spec.name; });
  return manifest;
}

}  // namespace

const ArrayRecord* Manifest::find(std::string_view name) const {
  const auto at = std::lower_bound(
      arrays.begin(), arrays.end(), name,
      [](const ArrayRecord& record, std::string_view wanted) { return record.spec.name < wanted; });
  return at != arrays.end() && at->spec.name == name ? &*at : nullptr;
}

int64_t ArrayRecord::file_bytes() const {
  if (chunk_file_bytes.empty()) return spec.file_bytes();
  return std::accumulate(chunk_file_bytes.begin(), chunk_file_bytes.end(), int64_t{0});
}

Result<std::string> manifest_to_text(const Manifest& manifest) {
  const bool is_compressed =
      std::any_of(manifest.arrays.begin(), manifest.arrays.end(),
                  [](const ArrayRecord& array) { return array.spec.zstd_level > 0; });
  std::string text = absl::StrFormat(
      "{\n\"format\": \"%s\",\n\"format_version\": %d,\n\"required_features\": [%s],\n\"step\": "
      "%d,\n"
      "\"saved_unix_s\": %d",
      to_absl(kFormatName), kCheckpointFormatVersion, is_compressed ? "\"zstd\"" : "",
      manifest.step, manifest.saved_unix_s);
  for (const OpaqueField& field : kOpaqueFields) {
    ASSIGN_OR_RETURN(const Json value,
                     parse_json(manifest.*field.text, str_cat("checkpoint manifest, ", field.key)));
    str_append(&text, ",\n\"", field.key, "\": ", value.dump());
  }
  str_append(&text, ",\n\"state\": {");
  const char* separator = "\n";
  for (const ArrayRecord& record : manifest.arrays) {  // a line each, to be read by people and grep
    str_append(&text, separator, "\"", record.spec.name, "\": ", record_to_json(record).dump());
    separator = ",\n";
  }
  str_append(&text, "\n}");
  const uint32_t crc = crc32c(std::as_bytes(std::span(text)));
  str_append(&text, kTrailerStart, hex(crc), kTrailerEnd);
  return text;
}

Result<Manifest> manifest_from_text(std::string_view text, std::string_view source) {
  ASSIGN_OR_RETURN(const std::string_view body, check_trailer(text, source));
  (void)body;
  ASSIGN_OR_RETURN(const Json json, parse_json(text, source));
  try {
    RETURN_IF_ERROR(check_version(json, source));
    const Result<Manifest> manifest = manifest_from_json(json);
    if (manifest.ok()) return manifest;
    return data_loss(source, ": ", manifest.status().message());
  } catch (const nlohmann::json::exception& error) {
    return data_loss(source, ": is not a manifest of this format: ", error.what());
  }
}

}  // namespace tessera
