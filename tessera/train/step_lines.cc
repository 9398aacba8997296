#include "tessera/train/step_lines.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "tessera/base/json.h"

namespace tessera {
namespace {

// Whether a line is one of ours, of an update up to `resume_step`.
bool stays(std::string_view text, int64_t resume_step) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return line.is_object() && line.contains("step") && line["step"].is_number_integer() &&
         line["step"].get<int64_t>() <= resume_step;
}

// The whole lines of updates up to `resume_step`; a damaged one costs no other.
std::string lines_to_keep(std::string_view text, int64_t resume_step) {
  std::string kept;
  while (true) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return kept;
    if (stays(text.substr(0, end), resume_step)) kept += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Status keep_lines(FileSystem& files, const std::string& path, int64_t step) {
  const Result<std::string> text = files.read_file(path);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  RETURN_IF_ERROR(text.status());
  const std::string kept = lines_to_keep(*text, step);
  return kept.size() < text->size() ? files.write_file_atomic(path, kept) : absl::OkStatus();
}

}  // namespace tessera
