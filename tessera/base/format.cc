#include "tessera/base/format.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "tessera/base/status.h"

namespace tessera {
namespace {

// Characters, not bytes, so that columns align: continuation bytes of UTF-8 take no place.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string count_text(double value) {
  if (!std::isfinite(value) || std::abs(value) >= 1e15) return absl::StrFormat("%g", value);
  std::string digits = absl::StrFormat("%.0f", value);
  const size_t begin = digits.starts_with('-') ? 1 : 0;
  for (size_t end = digits.size(); end > begin + 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

std::string bytes_text(double bytes) {
  if (std::abs(bytes) < 1024) return absl::StrFormat("%.0f bytes", bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
    if (std::abs(bytes) < 1000) break;  // 1000 MiB would be four digits
    bytes /= 1024;
    unit = next;
  }
  const double size = std::abs(bytes);
  return absl::StrFormat("%.*f %s", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, bytes, unit);
}

std::string wrapped(std::string_view text, size_t width) {
  std::string result;
  size_t used = 0;  // of the present line
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (used > 0 && used + 1 + width_of(word) > width) {
      result += '\n';
      used = 0;
    } else if (used > 0) {
      result += ' ';
      ++used;
    }
    result += word;
    used += width_of(word);
    if (end < text.size() && text[end] == '\n') {
      result += '\n';
      used = 0;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

void TextTable::add(std::vector<std::string> cells) {
  CHECK(cells.size() == right_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(int indent) const {
  std::vector<size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += right_[i] ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace tessera
