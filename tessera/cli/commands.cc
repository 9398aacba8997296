#include "tessera/cli/checkpoint_commands.h"
#include "tessera/cli/command.h"
#include "tessera/cli/coordinator.h"
#include "tessera/cli/data_commands.h"
#include "tessera/cli/doctor.h"
#include "tessera/cli/launch.h"
#include "tessera/cli/mesh.h"
#include "tessera/cli/train.h"

namespace tessera::cli {

std::vector<CommandMaker> all_commands() {
  return {train_command,
          launch_command,
          coordinator_command,
          generate_command,
          mesh,
          data_build,
          data_stat,
          data_show,
          data_export_megatron,
          data_import_megatron,
          checkpoint_ls,
          checkpoint_verify,
          checkpoint_show,
          checkpoint_diff,
          checkpoint_prune,
          checkpoint_merge,
          doctor};
}

}  // namespace tessera::cli
