#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "tessera/runtime/jit.h"

namespace tessera::process_testing {

/// y = a x, fitted to y = 10 x: 600 samples, ten a device and step, one after the other; a step is
/// one of gradient descent on the mean square error, with a rate of 1e-6, over any devices.
class Line {
 public:
  struct State {
    Array a;  ///< f32[], on the devices of this process
    int64_t step = 0;
  };

  /// `at` is called in the midst of a step: "begun", before anything is launched; "launched", while
  /// it runs; "awaited", when its result is there.
  Line(Runtime& runtime, std::function<void(int64_t step, std::string_view point)> at)
      : runtime_(runtime), at_(std::move(at)) {}

  /// a = 0.
  Result<State> start();
  /// A step over these devices. With `catch_up`, states that are behind are first replaced by one
  /// that is ahead.
  Result<State> step(State state, std::span<const int64_t> devices, bool catch_up);

 private:
  Status use(std::span<const int64_t> devices);
  Status catch_up(State& state);
  Result<Array> elements(DType dtype, const std::function<double(int64_t)>& of_position);
  Result<Array> batch(int64_t step);

  Runtime& runtime_;
  const std::function<void(int64_t step, std::string_view point)> at_;
  std::optional<NamedSharding> own_;
  std::optional<CompiledFunction> step_, sum_;
};

}  // namespace tessera::process_testing
