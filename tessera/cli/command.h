#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/status.h"
#include "tessera/base/usage_error.h"

namespace tessera::cli {

/// How a command is called and what it is for: `tessera help` and the parser are made from it.
struct CommandText {
  std::string name;      ///< "train", "data build".
  std::string operands;  ///< As in a usage line: "RECIPE [KEY=VALUE ...]".
  std::string summary;   ///< One line.
  std::string details;   ///< Paragraphs for its own --help.
  size_t min_operands = 0;
  size_t max_operands = 0;
};

/// What was typed after the command's name, options apart, and where results go.
struct Invocation {
  std::vector<std::string> operands;
  std::ostream& out;
};

/// One command of the program. Its options are config fields bound to its own members: field
/// `batch_size` is the option
/// --batch-size. An instance serves one call.
class Command {
 public:
  virtual ~Command() = default;
  virtual CommandText text() const = 0;
  virtual void fields(ConfigFields&) {}
  /// What --help prints after the options: the keys of a recipe, for those that take one.
  virtual std::string more_help() const { return ""; }
  /// The exit code. An error is printed, and exits 1; one made by usage_error() exits 2.
  virtual Result<int> run(const Invocation& invocation) = 0;
};

using CommandMaker = std::unique_ptr<Command> (*)();

/// Every command, in the order in which help lists them.
std::vector<CommandMaker> all_commands();

/// Runs the program: `arguments` without its own name. Results go to `out`, everything else to
/// `err`. Returns the exit code: 0 done, 1 failed, 2 wrong usage, 128 + n ended by signal n.
int run_program(const std::vector<std::string>& arguments,
                const std::vector<CommandMaker>& commands, std::ostream& out, std::ostream& err);

}  // namespace tessera::cli
