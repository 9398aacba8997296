#pragma once

#include <functional>
#include <string>

#include "tessera/ir/op.h"

/// For tests only: looking at graphs and at what building them throws.
namespace tessera::testing {

/// How many nodes of an op a graph has.
inline int count(const Graph& graph, const OpDef& op) {
  int found = 0;
  for (int32_t i = 0; i < graph.size(); ++i) found += graph.node(i).op == &op;
  return found;
}

/// The message of the TraceError that `f` throws, or "no error".
inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const TraceError& error) {
    return std::string(from_absl(error.status().message()));
  }
  return "no error";
}

}  // namespace tessera::testing
