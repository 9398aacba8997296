#include "tests/ops/golden.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/base/json.h"

namespace tessera::op_testing {
namespace {

std::vector<GoldenFamily>& families() {
  static std::vector<GoldenFamily> all;
  return all;
}

double number(const Json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "-inf" ? -infinity : infinity;
}

Result<HostArray> parse_array(const Json& json) {
  ASSIGN_OR_RETURN(const DType dtype, parse_dtype(json.at("dtype").get<std::string>()));
  const Json& values = json.at("values");
  const Shape shape{dtype, json.at("dims").get<Dims>()};
  if (static_cast<int64_t>(values.size()) != shape.elements()) {
    return data_loss("a golden array of ", to_string(shape), " has ", values.size(), " values");
  }
  HostArray array(shape);
  // A double does not hold every 64-bit integer.
  if (dtype == DType::kS64) {
    for (size_t i = 0; i < values.size(); ++i) array.as<int64_t>()[i] = values[i].get<int64_t>();
    return array;
  }
  if (dtype == DType::kU64) {
    for (size_t i = 0; i < values.size(); ++i) array.as<uint64_t>()[i] = values[i].get<uint64_t>();
    return array;
  }
  std::vector<double> numbers;
  for (const Json& value : values) numbers.push_back(number(value));
  return from_doubles(shape, numbers);
}

Result<std::vector<HostArray>> parse_arrays(const Json& json) {
  std::vector<HostArray> arrays;
  for (const Json& item : json) {
    ASSIGN_OR_RETURN(HostArray array, parse_array(item));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF8E5M2:
      return std::ldexp(1, -2);
    case DType::kF8E4M3FN:
      return std::ldexp(1, -3);
    case DType::kBF16:
      return std::ldexp(1, -7);
    case DType::kF16:
      return std::ldexp(1, -10);
    case DType::kF32:
      return std::ldexp(1, -23);
    default:
      return std::ldexp(1, -52);
  }
}

bool close(double got, double expected, double relative) {
  if (std::isnan(expected)) return std::isnan(got);
  if (got == expected) return std::signbit(got) == std::signbit(expected) || got != 0;
  if (std::isinf(expected) || std::isinf(got)) return false;
  // Below 1e-30 a plugin may flush to zero.
  return std::fabs(got - expected) <= relative * std::fabs(expected) + 1e-30;
}

void expect_array(const HostArray& got, const HostArray& expected, double ulps) {
  ASSERT_EQ(to_string(got.shape()), to_string(expected.shape()));
  const DType dtype = got.shape().dtype;
  if (!is_floating(dtype)) {
    EXPECT_TRUE(std::ranges::equal(got.bytes(), expected.bytes()))
        << "got " << ::testing::PrintToString(to_doubles(got)) << "\nexpected "
        << ::testing::PrintToString(to_doubles(expected));
    return;
  }
  const std::vector<double> a = to_doubles(got);
  const std::vector<double> b = to_doubles(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(close(a[i], b[i], ulps * epsilon(dtype)))
        << "element " << i << " of " << to_string(got.shape()) << ": got " << a[i] << ", expected "
        << b[i] << ", off by " << (a[i] - b[i]) / b[i] / epsilon(dtype) << " ulps, allowed "
        << ulps;
  }
}

}  // namespace

bool add_golden_functions(std::string family, MakeGoldenFunctions make) {
  families().push_back({std::move(family), std::move(make)});
  return true;
}

const std::vector<GoldenFamily>& golden_families() { return families(); }

std::string golden_path(const std::string& file) { return str_cat(TESSERA_GOLDEN_DIR, "/", file); }

Result<std::vector<GoldenCase>> load_golden(const std::string& family) {
  const std::string path = golden_path(family + ".json");
  std::ifstream file(path);
  if (!file) return not_found("no golden file ", path, ": make it with tests/ops/make_golden.py");
  std::stringstream text;
  text << file.rdbuf();
  ASSIGN_OR_RETURN(const Json json, parse_json(text.str(), path));
  std::vector<GoldenCase> cases;
  for (const Json& item : json.at("cases")) {
    GoldenCase c{.key = item.at("op").get<std::string>()};
    ASSIGN_OR_RETURN(c.inputs, parse_arrays(item.at("inputs")));
    ASSIGN_OR_RETURN(c.outputs, parse_arrays(item.at("outputs")));
    c.ulps = item.at("ulps").get<double>();
    cases.push_back(std::move(c));
  }
  return cases;
}

void expect_golden(const GoldenCase& c, std::span<const HostArray> got) {
  ASSERT_EQ(got.size(), c.outputs.size());
  for (size_t i = 0; i < got.size(); ++i) expect_array(got[i], c.outputs[i], c.ulps);
}

}  // namespace tessera::op_testing
