#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// Named leaves: an ordered map from dotted paths ("params.layers.mlp.up") to values. Leaves keep
/// the order in which they were added: it is the order of arguments and results of compiled
/// programs. A path is either a leaf or a branch, never both. Not thread-safe while it is being
/// changed.
template <typename T>
class Tree {
 public:
  using Leaf = std::pair<std::string, T>;
  using value_type = Leaf;
  using const_iterator = typename std::vector<Leaf>::const_iterator;

  /// Adds a leaf at the end. Errors: an empty path or part of one, a path that exists, a leaf that
  /// would be a branch too.
  Status add(std::string path, T value) {
    RETURN_IF_ERROR(check_new(path));
    index_.emplace(path, leaves_.size());
    leaves_.emplace_back(std::move(path), std::move(value));
    return absl::OkStatus();
  }
  /// Adds all leaves of `other` below `prefix`.
  Status append(std::string_view prefix, Tree other) {
    for (Leaf& leaf : other.leaves_) {
      RETURN_IF_ERROR(add(str_cat(prefix, ".", leaf.first), std::move(leaf.second)));
    }
    return absl::OkStatus();
  }

  size_t size() const { return leaves_.size(); }
  bool empty() const { return leaves_.empty(); }
  /// Leaves as pairs (path, value), in order.
  const_iterator begin() const { return leaves_.begin(); }
  const_iterator end() const { return leaves_.end(); }
  const Leaf& operator[](size_t i) const { return leaves_[i]; }
  T& value(size_t i) { return leaves_[i].second; }

  bool contains(std::string_view path) const { return index_.find(path) != index_.end(); }
  /// Null when there is no such leaf.
  const T* find(std::string_view path) const {
    const auto found = index_.find(path);
    return found == index_.end() ? nullptr : &leaves_[found->second].second;
  }
  T* find(std::string_view path) { return const_cast<T*>(std::as_const(*this).find(path)); }
  /// A leaf that is known to exist; CHECKs.
  const T& at(std::string_view path) const {
    const T* leaf = find(path);
    CHECK_MSG(leaf != nullptr, str_cat("no leaf ", path));
    return *leaf;
  }

  /// The leaves below `prefix`, with "prefix." taken off their paths.
  Tree subtree(std::string_view prefix) const {
    Tree result;
    const std::string start = str_cat(prefix, ".");
    for (const auto& [path, value] : leaves_) {
      if (path.starts_with(start)) CHECK(result.add(path.substr(start.size()), value).ok());
    }
    return result;
  }
  /// The same paths with function(path, value) as values.
  template <typename Function>
  auto map(Function function) const {
    Tree<decltype(function(leaves_[0].first, leaves_[0].second))> result;
    for (const auto& [path, value] : leaves_) CHECK(result.add(path, function(path, value)).ok());
    return result;
  }

 private:
  Status check_new(const std::string& path) const {
    if (path.empty() || path.front() == '.' || path.back() == '.' ||
        path.find("..") != std::string::npos) {
      return invalid_argument("tree: '", path, "' is no dotted path");
    }
    if (contains(path)) return invalid_argument("tree: '", path, "' exists already");
    // Branches sort right after their own path plus a dot.
    const std::string branch = path + ".";
    const auto below = index_.lower_bound(branch);
    if (below != index_.end() && below->first.starts_with(branch)) {
      return invalid_argument("tree: '", path, "' cannot be a leaf: '", below->first,
                              "' is below it");
    }
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
      if (contains(std::string_view(path).substr(0, dot))) {
        return invalid_argument("tree: '", path, "' is below the leaf '", path.substr(0, dot), "'");
      }
    }
    return absl::OkStatus();
  }

  std::vector<Leaf> leaves_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace tessera
