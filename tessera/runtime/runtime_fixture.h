#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tessera/runtime/array.h"
#include "tessera/runtime/testing.h"

namespace tessera::testing {

/// For tests only: a runtime over the process's shared client. Skipped where there is no plugin.
class RuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TESSERA_SKIP_WITHOUT_PLUGIN();
    auto runtime = test_runtime();
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = *std::move(runtime);
  }
  Array put(const HostArray& value, const NamedSharding& sharding) {
    auto array = Array::from_host(*runtime_, value, sharding);
    CHECK_MSG(array.ok(), array.status().ToString());
    return *array;
  }

  std::unique_ptr<Runtime> runtime_;
};

/// f32: 0, scale, 2 scale, ...
inline HostArray iota(Dims dims, float scale = 1) {
  HostArray array(Shape{DType::kF32, std::move(dims)});
  float next = 0;
  for (float& value : array.as<float>()) value = scale * next++;
  return array;
}

inline std::string message(const Status& status) { return std::string(status.message()); }

}  // namespace tessera::testing
