#include <algorithm>
#include <map>

#include "tessera/sharding/transfer_plan.h"

namespace tessera {
namespace {

constexpr int64_t kNone = -1;

// Which edge has which color at each vertex. Sources and destinations are numbered apart.
class Coloring {
 public:
  explicit Coloring(std::span<const std::pair<int64_t, int64_t>> edges)
      : edges_(edges), color_(edges.size(), kNone) {
    std::map<std::pair<int, int64_t>, int64_t> degree;
    int64_t most = 0;
    for (const auto& [source, destination] : edges) {
      most = std::max({most, ++degree[{0, source}], ++degree[{1, destination}]});
    }
    for (const auto& [vertex, count] : degree) at_[vertex].assign(most, kNone);
  }

  void color(int64_t edge) {
    const Vertex source = end(edge, 0), destination = end(edge, 1);
    const int64_t a = free_color(source);
    if (at_[destination][a] != kNone) flip(destination, a, free_color(destination));
    set(edge, a);
  }
  std::vector<int64_t> take() { return std::move(color_); }

 private:
  using Vertex = std::pair<int, int64_t>;  // side, number

  Vertex end(int64_t edge, int side) const {
    return {side, side == 0 ? edges_[edge].first : edges_[edge].second};
  }
  int64_t free_color(const Vertex& vertex) const {
    const auto& edges = at_.at(vertex);
    return std::find(edges.begin(), edges.end(), kNone) - edges.begin();
  }
  void set(int64_t edge, int64_t color) {
    color_[edge] = color;
    for (int side : {0, 1}) at_[end(edge, side)][color] = edge;
  }
  // Exchanges colors a and b along the path of such edges that begins at `vertex` with a; then a is
  // free there. The path cannot come to the source of the edge to be colored: it would arrive there
  // by an edge of color a, which is free there.
  void flip(Vertex vertex, int64_t a, int64_t b) {
    std::vector<int64_t> path;
    for (int64_t color = a; at_[vertex][color] != kNone; color = color == a ? b : a) {
      path.push_back(at_[vertex][color]);
      vertex = end(path.back(), 1 - vertex.first);
    }
    for (int64_t edge : path) {
      for (int side : {0, 1}) at_[end(edge, side)][color_[edge]] = kNone;
    }
    for (int64_t edge : path) set(edge, color_[edge] == a ? b : a);
  }

  const std::span<const std::pair<int64_t, int64_t>> edges_;
  std::vector<int64_t> color_;
  std::map<Vertex, std::vector<int64_t>> at_;  // by color the edge, or kNone
};

}  // namespace

std::vector<int64_t> color_edges(std::span<const std::pair<int64_t, int64_t>> edges) {
  Coloring coloring(edges);
  for (size_t i = 0; i < edges.size(); ++i) coloring.color(static_cast<int64_t>(i));
  return coloring.take();
}

}  // namespace tessera
