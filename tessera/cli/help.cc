#include "tessera/cli/help.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_split.h"
#include "tessera/base/format.h"
#include "tessera/base/strings.h"

namespace tessera::cli {
namespace {

constexpr size_t kColumns = 100;

// Two columns, the second broken into lines so that none is wider than a screen.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  size_t first = 0;
  for (const auto& [name, text] : rows) first = std::max(first, name.size());
  TextTable table({false, false});
  for (const auto& [name, text] : rows) {
    std::string shown = name;
    const std::string broken = wrapped(text, kColumns - 4 - first);
    for (const auto line : absl::StrSplit(broken, '\n'))
      table.add({std::exchange(shown, ""), std::string(line)});
  }
  return table.text(2);
}

std::string option_name(const ConfigField& field) {
  std::string name = field.path();
  for (char& c : name) c = c == '_' ? '-' : c;
  return "--" + name;
}

std::string default_text(const ConfigField& field) {
  const Json value = field.to_json();
  const bool is_nothing =
      value.is_null() || value == "" || value == false || value == Json::array();
  if (is_nothing) return "";
  const bool is_plain =
      value.is_string() && value.get<std::string>().find('\n') == std::string::npos;
  return str_cat("; default ", is_plain ? value.get<std::string>() : value.dump());
}

std::string options_text(Command& command) {
  ConfigFields fields(command);
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& path : fields.paths()) {
    const ConfigField& field = *fields.find(path);
    const std::string requirement =
        field.is_bool() ? "" : str_cat(" (", field.requirement(), default_text(field), ")");
    rows.push_back(
        {option_name(field) + (field.is_bool() ? "" : " VALUE"), field.help_text() + requirement});
  }
  rows.push_back({"--help", "This text."});
  return str_cat("\noptions:\n", two_columns(rows));
}

}  // namespace

std::string version_text() { return str_cat("tessera ", TESSERA_VERSION); }

std::string overview(const std::vector<CommandMaker>& commands, const std::string& group) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const CommandMaker& make : commands) {
    const CommandText text = make()->text();
    if (!group.empty() && !text.name.starts_with(group + " ")) continue;
    const std::string call =
        text.operands.empty() ? text.name : str_cat(text.name, " ", text.operands);
    rows.push_back({call, text.summary});
  }
  return str_cat("usage: tessera ", group.empty() ? "COMMAND" : group + " COMMAND", " ...\n\n",
                 two_columns(rows),
                 "\n`tessera COMMAND --help` tells more, `tessera --version` the version.\n");
}

std::string command_help(Command& command) {
  const CommandText text = command.text();
  std::string help = str_cat("usage: tessera ", text.name, text.operands.empty() ? "" : " ",
                             text.operands, " [OPTIONS]\n\n", text.summary, "\n");
  if (!text.details.empty()) str_append(&help, "\n", wrapped(text.details, 100), "\n");
  help += options_text(command);
  const std::string more = command.more_help();
  if (!more.empty()) str_append(&help, "\n", more);
  return help;
}

}  // namespace tessera::cli
