#pragma once

#include <memory>

#include "tessera/cli/command.h"

namespace tessera::cli {

/// Text to a token store.
std::unique_ptr<Command> data_build();
/// What a token store holds.
std::unique_ptr<Command> data_stat();
/// The text and tokens of one document.
std::unique_ptr<Command> data_show();

}  // namespace tessera::cli
