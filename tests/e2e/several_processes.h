#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/program.h"

/// Runs in several processes, and what tests ask of them.
namespace tessera::e2e {

using Settings = std::vector<std::string>;

/// Of runs over four devices, whosever they are.
inline const Settings kMesh = {"ici_data_parallelism=2", "ici_fsdp_parallelism=2",
                               "plugin.devices=4"};

inline Settings join(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

inline Ended launch(const Workspace& workspace, int processes, const Settings& settings) {
  const Settings command = {"launch",
                            "--processes=" + std::to_string(processes),
                            "--heartbeat-timeout-s=60",
                            "--",
                            "train",
                            "recipe.yaml"};
  return workspace.run(join(command, settings));
}

/// The same, and kills one of the processes, found by what the launcher put into its environment,
/// as soon as a condition of the shell holds.
inline Ended launch_and_kill(const Workspace& workspace, int processes, const Settings& settings,
                             int victim, const std::string& condition,
                             const std::string& options = "", const std::string& signal = "KILL") {
  workspace.write("kill.sh", "until " + condition + R"sh(; do sleep 0.1; done
    for environment in $(grep -ls "^TESSERA_PROCESS_ID=)sh" +
                                 std::to_string(victim) + R"sh(" -z /proc/[0-9]*/environ); do
      process=$(dirname "$environment")
      [ "$(readlink "$process/cwd")" = "$PWD" ] && kill -)sh" +
                                 signal + R"sh( "${process#/proc/}"
    done
    true)sh");
  std::string command = "timeout 250 sh kill.sh & \"$tessera\" launch --processes " +
                        std::to_string(processes) + " " + options + " -- train recipe.yaml";
  for (const std::string& setting : settings) command += " '" + setting + "'";
  return workspace.shell(command);
}

/// Of each step, within a share of it.
inline void expect_same_losses(const Workspace& workspace, const std::string& expected,
                               const std::string& got, double tolerance = 1e-5) {
  const auto a = workspace.losses(expected), b = workspace.losses(got);
  ASSERT_EQ(a.size(), b.size()) << got;
  for (const auto& [step, loss] : a)
    EXPECT_NEAR(std::stod(b.at(step)) / std::stod(loss), 1, tolerance) << got << " step " << step;
}

}  // namespace tessera::e2e
