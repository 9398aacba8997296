#pragma once

#include <cstdio>
#include <string>

namespace tessera {

/// A number as an attribute of a custom call: "1.0000000000000000e-06 : f64".
inline std::string call_number(double number) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.16e : f64", number);
  return text;
}

}  // namespace tessera
