#include "tessera/pjrt/named_value.h"

#include <optional>
#include <type_traits>

#include "absl/strings/str_join.h"
#include "tessera/base/strings.h"
#include "tessera/pjrt/named_value_internal.h"

namespace tessera::pjrt {
namespace {

struct Printer {
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(int64_t value) const { return str_cat(value); }
  std::string operator()(const std::vector<int64_t>& value) const {
    return str_cat("[", absl::StrJoin(value, ","), "]");
  }
  std::string operator()(float value) const { return str_cat(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
};

PJRT_NamedValue to_c(const NamedValue& named_value) {
  PJRT_NamedValue c = {};
  c.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  c.name = named_value.name.data();
  c.name_size = named_value.name.size();
  c.value_size = 1;
  if (const auto* text = std::get_if<std::string>(&named_value.value)) {
    c.type = PJRT_NamedValue_kString;
    c.string_value = text->data();
    c.value_size = text->size();
  } else if (const auto* integer = std::get_if<int64_t>(&named_value.value)) {
    c.type = PJRT_NamedValue_kInt64;
    c.int64_value = *integer;
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&named_value.value)) {
    c.type = PJRT_NamedValue_kInt64List;
    c.int64_array_value = list->data();
    c.value_size = list->size();
  } else if (const auto* real = std::get_if<float>(&named_value.value)) {
    c.type = PJRT_NamedValue_kFloat;
    c.float_value = *real;
  } else {
    c.type = PJRT_NamedValue_kBool;
    c.bool_value = std::get<bool>(named_value.value);
  }
  return c;
}

std::optional<NamedValue> from_c(const PJRT_NamedValue& c) {
  std::string name(c.name, c.name_size);
  switch (c.type) {
    case PJRT_NamedValue_kString:
      return NamedValue{std::move(name), std::string(c.string_value, c.value_size)};
    case PJRT_NamedValue_kInt64:
      return NamedValue{std::move(name), c.int64_value};
    case PJRT_NamedValue_kInt64List:
      return NamedValue{std::move(name), std::vector<int64_t>(c.int64_array_value,
                                                              c.int64_array_value + c.value_size)};
    case PJRT_NamedValue_kFloat:
      return NamedValue{std::move(name), c.float_value};
    case PJRT_NamedValue_kBool:
      return NamedValue{std::move(name), c.bool_value};
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(const NamedValue& named_value) {
  return str_cat(named_value.name, "=", std::visit(Printer{}, named_value.value));
}

std::vector<PJRT_NamedValue> to_c(std::span<const NamedValue> values) {
  std::vector<PJRT_NamedValue> result;
  for (const NamedValue& value : values) result.push_back(to_c(value));
  return result;
}

std::vector<NamedValue> from_c(const PJRT_NamedValue* values, size_t count) {
  std::vector<NamedValue> result;
  for (size_t i = 0; i < count; ++i) {
    if (auto value = from_c(values[i])) result.push_back(*std::move(value));
  }
  return result;
}

}  // namespace tessera::pjrt
