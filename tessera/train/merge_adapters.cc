#include "tessera/train/merge_adapters.h"

#include "tessera/base/usage_error.h"
#include "tessera/ckpt/saver.h"
#include "tessera/models/lora/model.h"
#include "tessera/train/compile.h"
#include "tessera/train/initial_weights.h"
#include "tessera/train/state_checkpoint.h"

namespace tessera {
namespace {

Result<TracedProgram> trace_merge(const LoraModel& model) {
  TracedProgram program;
  program.arguments = argument_specs("params", model.params());
  program.results = argument_specs("params", model.base().params());
  RETURN_IF_ERROR(trace_into(program, [&](Graph&, const Tree<Value>& arguments) {
    return values_of(model.merged(arguments.subtree("params")));
  }));
  return program;
}

}  // namespace

Result<MergedAdapters> merge_adapters(Session& session, FileSystem& files, const Clock& clock,
                                      const std::string& output, std::optional<int64_t> step) {
  const auto* model = dynamic_cast<const LoraModel*>(session.model.get());
  if (!model) {
    return usage_error(invalid_argument(
        "lora.rank is 0, so there are no adapters to merge: give the recipe that they were trained "
        "with"));
  }
  const CheckpointManager manager(files, session.checkpoint_directory());
  if (!step) {
    ASSIGN_OR_RETURN(const LatestCheckpoint latest, manager.latest());
    if (!latest.step) return not_found("no good checkpoint in ", manager.directory());
    step = latest.step;
  }
  ASSIGN_OR_RETURN(const auto reader, manager.open(*step));
  ASSIGN_OR_RETURN(const Tree<Array> weights, load_weights(session, files, *reader));
  ASSIGN_OR_RETURN(const TracedProgram traced, trace_merge(*model));
  ASSIGN_OR_RETURN(const CompiledFunction merge,
                   compile_program(*session.runtime, traced, "merge", session.layout));
  ASSIGN_OR_RETURN(const Tree<Array> merged, call(merge, weights));
  RETURN_IF_ERROR(wait_until_ready(merged));
  StagingPool memory;
  ASSIGN_OR_RETURN(SaveRequest request, copy_to_host(*step, merged, SaveShares(merged), memory));
  request.manifest.saved_unix_s = absl::ToUnixSeconds(clock.now());
  const CheckpointManager target(files, join_path(output, "checkpoints"));
  RETURN_IF_ERROR(files.create_dirs(target.directory()));
  CheckpointSaver saver(target, clock, {.refuse_not_finite = true});
  const SaveResult saved = saver.save(std::move(request)).get();
  RETURN_IF_ERROR(saved.status);
  return MergedAdapters{*step, join_path(target.directory(), str_cat(*step))};
}

}  // namespace tessera
