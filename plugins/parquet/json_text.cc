#include "plugins/parquet/json_text.h"

namespace tessera_parquet {
namespace {

void append_quoted(std::string_view text, std::string* json) {
  constexpr char kHex[] = "0123456789abcdef";
  *json += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *json += '\\';
      *json += c;
    } else if (byte < 0x20) {
      *json += "\\u00";
      *json += kHex[byte >> 4];
      *json += kHex[byte & 15];
    } else {
      *json += c;
    }
  }
  *json += '"';
}

void append_list(const arrow::Array& values, int64_t begin, int64_t end, std::string* json) {
  *json += '[';
  for (int64_t i = begin; i < end; ++i) {
    if (i > begin) *json += ',';
    append_json(values, i, json);
  }
  *json += ']';
}

void append_struct(const arrow::StructArray& values, int64_t row, std::string* json) {
  *json += '{';
  for (int i = 0; i < values.num_fields(); ++i) {
    if (i > 0) *json += ',';
    append_quoted(values.struct_type()->field(i)->name(), json);
    *json += ':';
    append_json(*values.field(i), row, json);
  }
  *json += '}';
}

}  // namespace

bool is_text(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return true;
    case arrow::Type::DICTIONARY:
      return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return false;
  }
}

bool is_nested(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::STRUCT;
}

bool text_at(const arrow::Array& values, int64_t row, std::string_view* text) {
  switch (values.type_id()) {
    case arrow::Type::STRING:
      *text = static_cast<const arrow::StringArray&>(values).GetView(row);
      return true;
    case arrow::Type::LARGE_STRING:
      *text = static_cast<const arrow::LargeStringArray&>(values).GetView(row);
      return true;
    case arrow::Type::STRING_VIEW:
      *text = static_cast<const arrow::StringViewArray&>(values).GetView(row);
      return true;
    case arrow::Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(values);
      return text_at(*coded.dictionary(), coded.GetValueIndex(row), text);
    }
    default:
      return false;
  }
}

void append_json(const arrow::Array& values, int64_t row, std::string* json) {
  std::string_view text;
  if (values.IsNull(row)) {
    *json += "null";
  } else if (text_at(values, row, &text)) {
    append_quoted(text, json);
  } else if (values.type_id() == arrow::Type::LIST) {
    const auto& list = static_cast<const arrow::ListArray&>(values);
    append_list(*list.values(), list.value_offset(row), list.value_offset(row + 1), json);
  } else if (values.type_id() == arrow::Type::LARGE_LIST) {
    const auto& list = static_cast<const arrow::LargeListArray&>(values);
    append_list(*list.values(), list.value_offset(row), list.value_offset(row + 1), json);
  } else if (values.type_id() == arrow::Type::STRUCT) {
    append_struct(static_cast<const arrow::StructArray&>(values), row, json);
  } else if (values.type_id() == arrow::Type::BOOL) {
    *json += static_cast<const arrow::BooleanArray&>(values).Value(row) ? "true" : "false";
  } else {
    const auto scalar = values.GetScalar(row);
    const std::string value = scalar.ok() ? (*scalar)->ToString() : "";
    if (scalar.ok() && arrow::is_integer(values.type_id())) {
      *json += value;
    } else {
      append_quoted(value, json);
    }
  }
}

}  // namespace tessera_parquet
