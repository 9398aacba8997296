#pragma once

#include <memory>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/models/language_model.h"
#include "tessera/runtime/runtime.h"
#include "tessera/train/config.h"
#include "tessera/train/layout.h"

namespace tessera {

/// What a run stands on: config, model, devices, mesh. One for each command that touches devices.
struct Session {
  RunConfig config;  ///< with the mesh resolved
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<Runtime> runtime;
  Slices slices;  ///< the devices, by the slices that they form
  Layout layout;

  /// Loads the plugin, opens the devices, together with the other processes of `group`, and lays
  /// the mesh over all of them. Warns of axes that do not
  /// divide a parameter. Errors: what resolving the mesh, validate_mesh() and
  /// check_sharding_tolerance() say.
  ///
  /// `all_processes`: how many the recipe counts on, where fewer may do (0: those of the group).
  /// With fewer the mesh and the accumulation of gradients are fitted to them; does_not_fit() when
  /// nothing does.
  static Result<Session> open(RunConfig config, const pjrt::ProcessGroup& group = {},
                              int all_processes = 0);

  std::string checkpoint_directory() const { return config.checkpoint_directory(); }
};

Result<std::unique_ptr<LanguageModel>> make_model(const ModelConfig& config);
/// The same with the recipe's adapters. Errors too: adapters or a mask of what is trained that fit
/// no parameter.
Result<std::unique_ptr<LanguageModel>> make_model(const RunConfig& config);

}  // namespace tessera
