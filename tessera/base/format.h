#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Numbers and tables as people read them.
namespace tessera {

/// "1,234,567"; a fraction is rounded.
std::string count_text(double value);

/// "512 bytes", "1.50 KiB", "20.0 GiB": three digits.
std::string bytes_text(double bytes);

/// `text` with line breaks at spaces, so that lines have at most `width` characters where words
/// allow. Breaks that it has stay.
std::string wrapped(std::string_view text, size_t width);

/// Rows of cells in aligned columns, two spaces apart.
class TextTable {
 public:
  /// `right` says of each column whether its cells stand at its right edge (numbers).
  explicit TextTable(std::vector<bool> right) : right_(std::move(right)) {}
  /// As many cells as there are columns.
  void add(std::vector<std::string> cells);
  /// Each row indented by `indent` spaces, ending in a newline, without spaces at its end.
  std::string text(int indent = 0) const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tessera
