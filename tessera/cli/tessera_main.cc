#include <iostream>
#include <string>
#include <vector>

#include "tessera/cli/command.h"

int main(int argc, char** argv) {
  return tessera::cli::run_program(std::vector<std::string>(argv + 1, argv + argc),
                                   tessera::cli::all_commands(), std::cout, std::cerr);
}
