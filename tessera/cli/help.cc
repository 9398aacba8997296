#include "tessera/cli/help.h"

#include <nlohmann/json.hpp>

#include "tessera/base/format.h"
#include "tessera/base/strings.h"

namespace tessera::cli {
namespace {

std::string option_name(const ConfigField& field) {
  std::string name = field.path();
  for (char& c : name) c = c == '_' ? '-' : c;
  return "--" + name;
}

std::string default_text(const ConfigField& field) {
  const Json value = field.to_json();
  const bool is_nothing =
      value.is_null() || value == "" || value == false || value == Json::array();
  return is_nothing
             ? ""
             : str_cat("; default ", value.is_string() ? value.get<std::string>() : value.dump());
}

std::string options_text(Command& command) {
  ConfigFields fields(command);
  TextTable table({false, false});
  for (const std::string& path : fields.paths()) {
    const ConfigField& field = *fields.find(path);
    const std::string requirement =
        field.is_bool() ? "" : str_cat(" (", field.requirement(), default_text(field), ")");
    table.add(
        {option_name(field) + (field.is_bool() ? "" : " VALUE"), field.help_text() + requirement});
  }
  table.add({"--help", "This text."});
  return str_cat("\noptions:\n", table.text(2));
}

}  // namespace

std::string version_text() { return str_cat("tessera ", TESSERA_VERSION); }

std::string overview(const std::vector<CommandMaker>& commands, const std::string& group) {
  TextTable table({false, false});
  for (const CommandMaker& make : commands) {
    const CommandText text = make()->text();
    if (!group.empty() && !text.name.starts_with(group + " ")) continue;
    const std::string call =
        text.operands.empty() ? text.name : str_cat(text.name, " ", text.operands);
    table.add({call, text.summary});
  }
  return str_cat("usage: tessera ", group.empty() ? "COMMAND" : group + " COMMAND", " ...\n\n",
                 table.text(2),
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
