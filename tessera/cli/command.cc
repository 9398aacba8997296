#include "tessera/cli/command.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "tessera/base/nearest.h"
#include "tessera/base/strings.h"
#include "tessera/cli/help.h"

namespace tessera::cli {
namespace {

struct Parsed {
  std::vector<std::string> operands;
  bool help = false;
};

std::string field_name(std::string option) {
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

Status unknown_option(const std::string& option, const ConfigFields& fields) {
  std::vector<std::string> options = {"help"};
  for (std::string name : fields.paths()) {
    std::replace(name.begin(), name.end(), '_', '-');
    options.push_back(name);
  }
  const std::string near = nearest(option, options);
  return invalid_argument(
      "there is no option --", option,
      near.empty() ? "; see --help for those there are" : str_cat("; the nearest is --", near));
}

// One dash and more; "-" alone may stand for a stream.
bool is_short_option(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-' && argument[1] != '-';
}

/// Options set the command's fields; the rest are operands. After "--" everything is an operand.
Result<Parsed> parse(const std::vector<std::string>& arguments, ConfigFields& fields) {
  Parsed parsed;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      parsed.operands.insert(parsed.operands.end(), arguments.begin() + i + 1, arguments.end());
      return parsed;
    }
    if (argument == "--help" || argument == "-h") {
      parsed.help = true;
      continue;
    }
    if (is_short_option(argument)) {
      return invalid_argument("there is no option ", argument,
                              "; options begin with two dashes: see --help for those there are. "
                              "After -- everything is an operand");
    }
    if (!argument.starts_with("--")) {
      parsed.operands.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string option =
        argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (option == "help") return invalid_argument("the option --help takes no value");
    const ConfigField* field = fields.find(field_name(option));
    if (!field) return unknown_option(option, fields);
    std::string value = "true";
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (!field->is_bool()) {
      if (++i == arguments.size())
        return invalid_argument("--", option, " needs a value: ", field->requirement());
      value = arguments[i];
    }
    // A text, such as a prompt, may look like YAML and is none.
    ASSIGN_OR_RETURN(const ConfigNode node,
                     field->is_string() ? text_override(field->path(), value)
                                        : parse_override(str_cat(field->path(), "=", value)));
    RETURN_IF_ERROR(fields.apply(node));
  }
  return parsed;
}

Status check_operands(const CommandText& text, size_t count) {
  if (count >= text.min_operands && count <= text.max_operands) return absl::OkStatus();
  const std::string required = text.operands.empty() ? "none" : text.operands;
  return invalid_argument(count, count == 1 ? " operand was" : " operands were",
                          " given, required: ", required);
}

Result<int> call(Command& command, const std::vector<std::string>& arguments, std::ostream& out) {
  ConfigFields fields(command);
  Result<Parsed> parsed = parse(arguments, fields);
  if (!parsed.ok()) return usage_error(parsed.status());
  if (parsed->help) {
    out << command_help(command);
    return 0;
  }
  const Status fits = check_operands(command.text(), parsed->operands.size());
  if (!fits.ok()) return usage_error(fits);
  return command.run(Invocation{std::move(parsed->operands), out});
}

int report(const std::string& name, const Result<int>& result, std::ostream& err) {
  if (result.ok()) return *result;
  // At once: the line is whole or not there where a signal ends this process meanwhile.
  err << str_cat("tessera ", name, ": ", from_absl(result.status().message()), "\n");
  return is_usage_error(result.status()) ? 2 : 1;
}

/// Where the command's own arguments begin: one or two words after the program's name.
struct Found {
  std::unique_ptr<Command> command;
  size_t words = 0;
};

Found find_command(const std::vector<std::string>& arguments,
                   const std::vector<CommandMaker>& commands) {
  for (size_t words : {2, 1}) {
    if (arguments.size() < words) continue;
    const std::string name = absl::StrJoin(arguments.begin(), arguments.begin() + words, " ");
    for (const CommandMaker& make : commands) {
      std::unique_ptr<Command> command = make();
      if (command->text().name == name) return {std::move(command), words};
    }
  }
  return {};
}

bool is_group(const std::string& word, const std::vector<CommandMaker>& commands) {
  return std::any_of(commands.begin(), commands.end(), [&](const CommandMaker& make) {
    return make()->text().name.starts_with(word + " ");
  });
}

int unknown_command(const std::vector<std::string>& arguments,
                    const std::vector<CommandMaker>& commands, std::ostream& err) {
  const bool in_group = is_group(arguments[0], commands);
  const std::string typed = in_group ? str_cat(arguments[0], " ", arguments[1]) : arguments[0];
  std::vector<std::string> names = {"help", "--help", "--version"};
  for (const CommandMaker& make : commands) {
    const std::string name = make()->text().name;
    names.push_back(name);
    if (!in_group && name.find(' ') != std::string::npos)
      names.push_back(name.substr(0, name.find(' ')));
  }
  const std::string near = nearest(typed, names);
  err << "tessera: there is no command " << typed
      << (near.empty() ? "; `tessera --help` lists those there are"
                       : str_cat("; the nearest is ", near))
      << "\n";
  return 2;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments,
                const std::vector<CommandMaker>& commands, std::ostream& out, std::ostream& err) {
  if (arguments.empty()) {
    err << overview(commands, "");
    return 2;
  }
  const std::string& first = arguments[0];
  if (first == "--version" || first == "version") {
    out << version_text() << "\n";
    return 0;
  }
  if ((first == "help" || first == "--help" || first == "-h") && arguments.size() > 1) {
    std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    rest.push_back("--help");
    return run_program(rest, commands, out, err);
  }
  if (first == "--help" || first == "-h" || first == "help") {
    out << overview(commands, "");
    return 0;
  }
  const Found found = find_command(arguments, commands);
  if (found.command) {
    const std::vector<std::string> rest(arguments.begin() + found.words, arguments.end());
    return report(found.command->text().name, call(*found.command, rest, out), err);
  }
  const bool wants_help =
      arguments.size() > 1 && (arguments[1] == "--help" || arguments[1] == "-h");
  if (is_group(first, commands) && (arguments.size() == 1 || wants_help)) {
    (wants_help ? out : err) << overview(commands, first);
    return wants_help ? 0 : 2;
  }
  return unknown_command(arguments, commands, err);
}

}  // namespace tessera::cli
