#include "tessera/base/environment.h"

#include <cstdlib>

#include "tessera/base/strings.h"

namespace tessera {
namespace {

Result<std::string> variable(const std::string& name) {
  if (name == "TESSERA_CACHE") return cache_folder();
  const char* value = std::getenv(name.c_str());
  if (!value) return not_found("the environment variable ", name, " is not set");
  return std::string(value);
}

}  // namespace

Result<std::string> cache_folder() {
  const char* cache = std::getenv("TESSERA_CACHE");
  if (cache && *cache) return std::string(cache);
  const char* home = std::getenv("HOME");
  if (home && *home) return str_cat(home, "/.cache/tessera");
  return not_found("neither TESSERA_CACHE nor HOME is set");
}

Result<std::string> expand_variables(std::string_view text) {
  std::string expanded;
  while (true) {
    const size_t begin = text.find("${");
    expanded += text.substr(0, begin);
    if (begin == std::string_view::npos) return expanded;
    const size_t end = text.find('}', begin);
    if (end == std::string_view::npos)
      return invalid_argument("\"", text, "\" has a ${ without its }");
    ASSIGN_OR_RETURN(const std::string value,
                     variable(std::string(text.substr(begin + 2, end - begin - 2))));
    expanded += value;
    text.remove_prefix(end + 1);
  }
}

}  // namespace tessera
