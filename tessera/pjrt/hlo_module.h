#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/status.h"

/// What a compiled program holds, as far as reports and tests ask: read from the form that plugins
/// give it in (XLA's HloModuleProto), whose field numbers stand in hlo_module.cc.
namespace tessera::pjrt {

/// A dense array's element size and dimensions; a tuple's parts.
struct HloShape {
  double element_bytes = 0;
  std::vector<int64_t> dims;
  std::vector<HloShape> parts;

  double elements() const;
  /// Of all parts.
  double bytes() const;
};

struct HloInstruction {
  int64_t id = 0;
  std::string name;    ///< "all-gather.3"
  std::string opcode;  ///< "all-gather"
  HloShape shape;
  std::vector<int64_t> operands;  ///< ids
  std::vector<int64_t> called;    ///< ids of computations
  /// Of a collective: the partitions that exchange.
  std::vector<std::vector<int64_t>> groups;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  std::vector<int64_t> lhs_contracting;  ///< of a dot
  std::string custom_call_target;
  int64_t parameter = 0;   ///< which argument of its computation a parameter is
  int64_t trip_count = 1;  ///< of a while loop, where the compiler knew it
};

struct HloComputation {
  int64_t id = 0;
  std::string name;
  std::vector<HloInstruction> instructions;
};

struct HloModule {
  std::string name;
  int64_t entry = 0;
  std::unordered_map<int64_t, HloComputation> computations;

  /// `format` and `code` are those of Executable::optimized_program(). Errors: a format other than
  /// "hlo" and "hlo_with_config", bytes that are cut short.
  static Result<HloModule> parse(std::string_view format, std::string_view code);

  /// Calls visit(computation, instruction, times) for each instruction that one run of the program
  /// executes, with how often it does: the trip counts of the loops around it.
  template <typename Visit>
  void walk(const Visit& visit) const {
    walk_computation(entry, 1, visit);
  }

  /// Floating-point operations of one run on one device: 2 a multiplication and addition of every
  /// dot product.
  double dot_flops() const;

 private:
  template <typename Visit>
  void walk_computation(int64_t id, double times, const Visit& visit) const {
    const HloComputation& computation = computations.at(id);
    for (const HloInstruction& instruction : computation.instructions) {
      visit(computation, instruction, times);
      if (is_reduction(instruction.opcode)) continue;
      const double inner = times * static_cast<double>(instruction.trip_count);
      for (int64_t called : instruction.called) walk_computation(called, inner, visit);
    }
  }
  /// Whether what it calls is run element by element rather than once.
  static bool is_reduction(std::string_view opcode);
};

}  // namespace tessera::pjrt
