#pragma once

#include <arrow/api.h>

#include <string>
#include <string_view>

namespace tessera_parquet {

/// Strings of any of Arrow's layouts, also behind a dictionary.
bool is_text(const arrow::DataType& type);
/// Lists and structures.
bool is_nested(const arrow::DataType& type);

/// Sets the string of a row that is not null, and returns true; false where the array holds others.
bool text_at(const arrow::Array& values, int64_t row, std::string_view* text);
/// Appends a row's value as JSON. What JSON has no form for, such as bytes and times, is its text.
void append_json(const arrow::Array& values, int64_t row, std::string* json);

}  // namespace tessera_parquet
