#pragma once

#include "tessera/ckpt/manager.h"
#include "tessera/train/session.h"

namespace tessera {

/// Of a state's arrays those that this run's checkpoints hold: all, or with adapters all but the
/// base's weights, which stay where checkpoint.initialize_from has them.
std::vector<ArgumentSpec> saved_specs(std::vector<ArgumentSpec> state, const RunConfig& config);
bool is_saved(std::string_view path, const RunConfig& config);

/// The weights ("params.*", of adapters' base) of checkpoint.initialize_from: of a run's newest
/// good checkpoint, or of one step's folder. Errors name the folder and what does not fit.
Result<Tree<Array>> load_initial_weights(Session& session, FileSystem& files);

/// All of a model's weights from a checkpoint of this run, and where it has adapters the base's.
Result<Tree<Array>> load_weights(Session& session, FileSystem& files,
                                 const CheckpointReader& reader);

}  // namespace tessera
