#pragma once

#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/json.h"
#include "tessera/data/token_store.h"
#include "tessera/train/config.h"
#include "tessera/train/peers.h"

/// That all processes of a run were started for the same one: what differs unseen, as another
/// learning rate or another host's copy of the data, makes replicas drift apart, or a save fail
/// after hours. Every process calls each of these; where one differs, all get an error that names
/// it. Alone: OK.
namespace tessera {

/// The settings, and the version of the program; a usage error. Not compared: where files lie that
/// are looked at themselves (output_directory, data.store and what it is built from), and logging.
Status check_same_settings(const RunConfig& config, Peers& peers);

/// That `folder`, as the key `key` names it, is the leader's, which must be there: by a file that
/// the leader writes and removes again. Not asked of object stores, whose paths are everywhere the
/// same.
Status check_same_folder(const std::string& key, const std::string& folder, FileSystem& files,
                         Peers& peers);

/// That the stores hold the same tokens.
Status check_same_store(const TokenStore& store, Peers& peers);

/// "schedule.learning_rate is 0.2, and 0.1 on process 0", of all settings that may not differ.
std::vector<std::string> setting_differences(const Json& own, const Json& leaders);

}  // namespace tessera
