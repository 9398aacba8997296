#pragma once

#include <memory>

#include "tessera/cli/command.h"

namespace tessera::cli {

/// Text to a token store.
std::unique_ptr<Command> data_build();
/// What a token store holds.
std::unique_ptr<Command> data_stat();
/// A token store to Megatron-LM's files, and back.
std::unique_ptr<Command> data_export_megatron();
std::unique_ptr<Command> data_import_megatron();
/// The text and tokens of one document.
std::unique_ptr<Command> data_show();

}  // namespace tessera::cli
