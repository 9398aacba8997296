#include "tessera/train/trainer.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "tessera/base/format.h"
#include "tessera/base/json.h"
#include "tessera/base/usage_error.h"
#include "tessera/nn/pipeline.h"
#include "tessera/runtime/replica_check.h"
#include "tessera/train/compile.h"
#include "tessera/train/config_changes.h"
#include "tessera/train/examples_log.h"
#include "tessera/train/gemm_peak.h"
#include "tessera/train/initial_weights.h"
#include "tessera/train/memory_check.h"
#include "tessera/train/metrics_console.h"
#include "tessera/train/metrics_json.h"
#include "tessera/train/metrics_tensorboard.h"
#include "tessera/train/optimizer.h"
#include "tessera/train/parallel_config.h"
#include "tessera/train/peer_saves.h"
#include "tessera/train/progress.h"
#include "tessera/train/remat.h"
#include "tessera/train/run_checkpoints.h"
#include "tessera/train/run_lock.h"
#include "tessera/train/same_run.h"
#include "tessera/train/state_checkpoint.h"
#include "tessera/train/token_store.h"
#include "tessera/train/traffic_meter.h"
#include "tessera/train/watchdog.h"

namespace tessera {
namespace {

// How many steps may be under way. Two keep the devices busy while the host prepares the next;
// more would only hold memory and tell of a bad loss later.
constexpr size_t kStepsAhead = 2;

// Steps in a row whose loss or gradient may be not finite, where such steps are skipped.
constexpr int kMostNotFinite = 16;

float scalar_of(const HostArray& array) { return array.as<float>()[0]; }

/// A step that was dispatched and not yet seen to its end.
struct Pending {
  int64_t step;
  double learning_rate;
  double data_wait_s;
  Tree<Array> metrics;
};

// What a device holds of values.
Result<int64_t> device_bytes(std::span<const ArgumentSpec> specs, const Layout& layout) {
  int64_t bytes = 0;
  for (const ArgumentSpec& spec : specs) {
    ASSIGN_OR_RETURN(const ProgramValue value, lay_out(spec, layout));
    bytes += static_cast<int64_t>(value.sharding.shard_shape(spec.shape).host_bytes());
  }
  return bytes;
}

Result<bool> was_skipped(const Pending& pending) {
  const Array* metric = pending.metrics.find("step_skipped");
  if (!metric) return false;
  ASSIGN_OR_RETURN(const HostArray value, metric->to_host());
  return scalar_of(value) != 0;
}

void log_transfers() {
  for (const TransferCount& count : transfer_counts()) {
    log_debug(count.file, ":", count.line, ": ", count.transfers, " ",
              count.is_implicit ? "implicit " : "", to_string(count.direction), " transfers, ",
              bytes_text(static_cast<double>(count.bytes)));
  }
}

// The guard's own remedy is for who writes a program.
Status name_guard(const Status& status) {
  if (!from_absl(status.message()).starts_with("Disallowed ")) return status;
  return annotate(status, "guards.transfer (log or log_explicit let this happen)");
}

/// One run, from start to end. Used by one thread.
class Trainer {
 public:
  Trainer(Session session, TrainingData data, const TrainEnvironment& environment, Peers& peers,
          Goodput& goodput, Watchdog& watchdog)
      : session_(std::move(session)),
        config_(session_.config),
        schedule_(config_.resolved_schedule()),
        data_(std::move(data)),
        environment_(environment),
        peers_(peers),
        goodput_(goodput),
        watchdog_(watchdog),
        saves_(peers),
        checkpoints_(session_, environment.files, environment.clock,
                     peers.alone() ? nullptr : &saves_) {}

  Status prepare();
  Result<TrainOutcome> run();

 private:
  Status compile();
  Status start_state();
  Status initialize(bool load_weights);
  void replace(const Tree<Array>& values);
  Status open_local_tier();
  Result<bool> resume_from_newest();
  Status resume(const CheckpointReader& reader);
  Status open_metrics();
  Status open_examples_log();
  Status check_data_suffices() const;
  void print_plan() const;
  void print_measured(const CompiledFunction& step_program) const;
  void print_peak(const GemmPeak& peak) const;

  Result<Batch> next_batch();
  Status dispatch();
  Status complete_one();
  Status complete_all();
  Status check_finite(const Pending& pending, double loss, double grad_norm, bool skipped);

  Status compare_replicas();
  Status evaluate();
  bool reaches_target() const;
  struct SaveTo {
    bool durable = true, local = false;
    bool may_skip = false;
  };
  Status save(SaveTo to);
  Status save() { return save(SaveTo{}); }
  Status save_if_due();
  void save_after(const Status& error);
  Status train_on();
  void finish_saves();
  void report_goodput();

  Result<bool> must_stop();
  Status look_for_ends();
  bool due(int64_t interval) const { return interval > 0 && step_ % interval == 0; }

  Session session_;
  const RunConfig& config_;
  const ScheduleConfig schedule_;
  TrainingData data_;
  const TrainEnvironment& environment_;
  Peers& peers_;
  Goodput& goodput_;
  Watchdog& watchdog_;
  PeerSaves saves_;
  std::unique_ptr<LocalTier> local_tier_;  // null: there is none
  RunCheckpoints checkpoints_;

  std::optional<NamedSharding>
      even_;  // how batches come to the devices, where not as they are used
  std::optional<CompiledFunction> train_step_, eval_step_;
  std::optional<TrafficMeter> traffic_;
  RunFacts facts_;
  MetricsLogger metrics_;
  std::unique_ptr<ExamplesLog> examples_log_;  // null: none is wanted
  Tree<Array> state_;
  int64_t step_ = 0;           // dispatched
  int64_t first_step_ = 0;     // that this process began after
  bool between_steps_ = true;  // state and data are of the same step
  bool state_is_bad_ = false;  // a loss or gradient was not finite
  std::deque<Pending> pending_;
  absl::Duration last_completion_;
  std::optional<double> last_loss_, last_grad_norm_;  // of the newest complete step
  // Of the newest validation.
  int64_t validated_step_ = -1;
  double validation_loss_ = 0;
  int not_finite_ = 0;  // steps in a row that were skipped for that
  TrainOutcome outcome_;
};

Status Trainer::prepare() {
  RETURN_IF_ERROR(compile());
  RETURN_IF_ERROR(start_state());
  RETURN_IF_ERROR(check_data_suffices());
  RETURN_IF_ERROR(open_examples_log());
  return open_metrics();
}

Status Trainer::compile() {
  const Goodput::Scope scope(goodput_, Goodput::kCompile);
  watchdog_.enter("compiling");
  Runtime& runtime = *session_.runtime;
  facts_.total_steps = config_.training.steps;
  facts_.devices = session_.layout.mesh.size();
  facts_.flops_per_step =
      session_.model->step_flop(config_.training.batch_size, config_.training.sequence_length);
  print_plan();
  ASSIGN_OR_RETURN(const TracedProgram train_program,
                   trace_train_step(*session_.model, config_, &session_.layout));
  ASSIGN_OR_RETURN(const int64_t argument_bytes,
                   device_bytes(train_program.arguments, session_.layout));
  RETURN_IF_ERROR(check_memory(runtime.client(), argument_bytes));
  ASSIGN_OR_RETURN(train_step_,
                   compile_program(runtime, train_program, "train_step", session_.layout));
  RETURN_IF_ERROR(check_memory(runtime.client(), train_step_->executable()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> processes, runtime.processes(session_.layout.mesh));
  traffic_.emplace(runtime.client(), *train_step_, session_.layout.mesh, processes);
  if (config_.data.loading == LoadingStrategy::kEven) {
    ASSIGN_OR_RETURN(even_, even_sharding(session_.layout.mesh, processes));
  }
  if (data_.validation) {
    ASSIGN_OR_RETURN(const TracedProgram eval_program,
                     trace_eval_step(*session_.model, config_.training, &session_.layout));
    ASSIGN_OR_RETURN(eval_step_,
                     compile_program(runtime, eval_program, "eval_step", session_.layout));
  }
  const GemmPeakCache peaks(environment_.files, environment_.gemm_peak_folder);
  const auto peak =
      gemm_peak(runtime.client(), environment_.clock, peaks, {.dtype = config_.training.dtype});
  if (peak.ok()) facts_.peak_flops_per_device = peak->flops_per_device;
  print_measured(*train_step_);
  if (peak.ok()) print_peak(*peak);
  return absl::OkStatus();
}

void Trainer::print_plan() const {
  const auto number = [](double value) { return count_text(value); };
  log_info("devices: ", session_.layout.mesh.size(), " (",
           session_.runtime->client().platform_name(), "), mesh ", to_string(session_.layout.mesh));
  if (const int64_t stages = axis_degree(session_.layout.mesh, "stage"); stages > 1) {
    const int64_t microbatches = pipeline_microbatches(config_.training, stages);
    const int64_t repeats = config_.training.pipeline_repeats;
    log_info(absl::StrFormat(
        "pipeline: %d stages, %d microbatches, %d %s; a stage waits %.1f %% of the time", stages,
        microbatches, repeats, repeats == 1 ? "repeat" : "repeats",
        100 * pipeline_bubble(stages, microbatches, repeats)));
  }
  log_info("model: ", number(static_cast<double>(count_params(session_.model->params()))),
           " parameters, ", absl::StrFormat("%.4g", facts_.flops_per_step / 1e12),
           " TFLOP a step of ", number(static_cast<double>(config_.training.tokens_per_step())),
           " tokens");
  log_info("compiling");  // minutes, for a large model
}

void Trainer::print_measured(const CompiledFunction& step_program) const {
  if (const auto memory = step_program.executable().memory_stats(); memory.ok()) {
    log_info("memory a device: state and batch ",
             bytes_text(static_cast<double>(memory->argument_bytes)), ", temporary ",
             bytes_text(static_cast<double>(memory->temp_bytes)));
  }
  log_info("compiled train_step in ", absl::StrFormat("%.2f s", step_program.compile_seconds()));
}

void Trainer::print_peak(const GemmPeak& peak) const {
  const double hours = absl::ToDoubleHours(environment_.clock.now() - peak.measured);
  log_info("GEMM peak: ",
           absl::StrFormat("%.3f TFLOP/s a device (%s)%s", peak.flops_per_device / 1e12,
                           config_.training.dtype == ComputeType::kBf16 ? "bf16" : "f32",
                           hours < 0.1 ? "" : absl::StrFormat(", measured %.1f h ago", hours)));
}

Status Trainer::start_state() {
  watchdog_.enter("making or restoring its state");
  bool resumed = false;
  if (config_.checkpoint.enabled) {
    RETURN_IF_ERROR(open_local_tier());
    ASSIGN_OR_RETURN(resumed, resume_from_newest());
  }
  return resumed ? absl::OkStatus() : initialize(!config_.checkpoint.initialize_from.empty());
}

Status Trainer::open_local_tier() {
  const LocalCheckpointConfig& config = config_.checkpoint.local;
  if (!config.enabled()) return absl::OkStatus();
  std::string run;
  RETURN_IF_ERROR(peers_.lead("naming the run", [&]() -> Status {
    ASSIGN_OR_RETURN(run, run_name(environment_.files, session_.checkpoint_directory()));
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(run, peers_.text_from_leader(run));
  ASSIGN_OR_RETURN(local_tier_, LocalTier::open(config, run, environment_.files, environment_.clock,
                                                peers_, environment_.network));
  checkpoints_.add(*local_tier_);
  return absl::OkStatus();
}

// False where there is no checkpoint yet.
Result<bool> Trainer::resume_from_newest() {
  const CheckpointManager& manager = checkpoints_.manager();
  RETURN_IF_ERROR(peers_.lead("clearing up what was never finished", [&]() -> Status {
    ASSIGN_OR_RETURN(const std::vector<std::string> leftovers, manager.clean());
    for (const std::string& name : leftovers)
      log_info("removed ", name, ", which an earlier run left unfinished");
    return absl::OkStatus();
  }));
  std::vector<const CheckpointManager*> tiers = {&manager};
  if (local_tier_) tiers.insert(tiers.begin(), &local_tier_->held());
  std::string saved_config, folder;
  ASSIGN_OR_RETURN(const LatestCheckpoint latest,
                   read_latest(tiers, peers_, [&](const CheckpointReader& reader) {
                     saved_config = reader.manifest().config_json;
                     folder = reader.folder();
                     return resume(reader);
                   }));
  log_skipped(latest);
  if (local_tier_) RETURN_IF_ERROR(local_tier_->resumed(latest.step.value_or(-1)));
  if (latest.step) {
    log_info("resumed from ", folder, " at step ", step_);
    log_config_changes(saved_config, config_json(config_));
    return true;
  }
  if (latest.skipped.empty()) return false;
  // To begin anew here would throw away the metrics of all that was trained.
  return data_loss("no checkpoint in ", manager.directory(),
                   " is good, so the run cannot go on: bring one back, or begin anew by moving ",
                   manager.directory(), " away or choosing another output_directory");
}

// New weights, or those of another run.
Status Trainer::initialize(bool load_weights) {
  ASSIGN_OR_RETURN(const TracedProgram program, trace_init(*session_.model, config_));
  ASSIGN_OR_RETURN(const CompiledFunction init,
                   compile_program(*session_.runtime, program, "init", session_.layout));
  ASSIGN_OR_RETURN(state_, call(init, {}));
  if (!load_weights) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Tree<Array> weights, load_initial_weights(session_, environment_.files));
  replace(weights);
  return absl::OkStatus();
}

// Values of the state's paths that `values` has.
void Trainer::replace(const Tree<Array>& values) {
  for (size_t i = 0; i < state_.size(); ++i) {
    if (const Array* value = values.find(state_[i].first)) state_.value(i) = *value;
  }
}

Status Trainer::resume(const CheckpointReader& reader) {
  const std::vector<ArgumentSpec> whole = state_spec(*session_.model, config_);
  std::vector<ArgumentSpec> saved = saved_specs(whole, config_);
  // A run may begin to skip spikes: then it has seen none yet.
  if (!reader.manifest().find("spikes.seen"))
    std::erase_if(saved, [](const ArgumentSpec& spec) { return spec.path.starts_with("spikes."); });
  // What holds weights alone, as merged adapters, gets moments and data of its own.
  if (!reader.manifest().find("step")) {
    log_warning(reader.folder(), " has no optimizer state: moments begin at zero");
    std::erase_if(saved,
                  [](const ArgumentSpec& spec) { return !spec.path.starts_with("params."); });
  }
  if (saved.size() == whole.size()) {
    ASSIGN_OR_RETURN(state_, restore(*session_.runtime, reader, whole, session_.layout));
  } else {
    RETURN_IF_ERROR(initialize(config_.lora.rank > 0));
    ASSIGN_OR_RETURN(const Tree<Array> restored,
                     restore(*session_.runtime, reader, saved, session_.layout));
    replace(restored);
  }
  ASSIGN_OR_RETURN(const Json position, parse_json(reader.manifest().data_json, reader.folder()));
  if (!position.is_null())
    RETURN_IF_ERROR(annotate(data_.train->restore(position), "resuming the data"));
  step_ = reader.manifest().step;
  checkpoints_.resumed(step_, reader.folder());
  const Json metrics = Json::parse(reader.manifest().metrics_json, nullptr,
                                   /*allow_exceptions=*/false);
  if (metrics.is_object() && metrics.contains("goodput")) goodput_.resumed(metrics["goodput"]);
  if (metrics.is_object() && metrics.contains("eval_loss") && metrics["eval_loss"].is_number()) {
    validated_step_ = step_;
    validation_loss_ = metrics["eval_loss"].get<double>();
  }
  return absl::OkStatus();
}

Status Trainer::open_examples_log() {
  if (!config_.logging.examples) return absl::OkStatus();
  const std::string& folder = config_.output_directory;
  RETURN_IF_ERROR(peers_.lead("opening the log of examples",
                              [&] { return ExamplesLog::cut(environment_.files, folder, step_); }));
  auto opened = ExamplesLog::open(environment_.files, folder, peers_.process());
  if (opened.ok()) examples_log_ = *std::move(opened);
  return peers_.agree("opening the log of examples", opened.status());
}

// A run that cannot come to its end had better not begin.
Status Trainer::check_data_suffices() const {
  const int64_t left = data_.train->batches_left();
  if (left < 0 || left >= config_.training.steps - step_) return absl::OkStatus();
  return usage_error(failed_precondition("data.epochs: the data ends after step ", step_ + left,
                                         ", and training.steps is ", config_.training.steps,
                                         ": set training.steps=", step_ + left,
                                         " or less, or raise the epochs (0: as many as it takes)"));
}

Status Trainer::open_metrics() {
  if (!peers_.leads()) return absl::OkStatus();  // all have the same numbers
  ConsoleOptions console{.interval = config_.logging.interval, .row_width = terminal_width()};
  metrics_.add(make_console_sink(facts_, console, environment_.log, environment_.clock));
  if (config_.logging.json) {
    ASSIGN_OR_RETURN(auto sink,
                     make_json_sink(join_path(config_.output_directory, "metrics.jsonl"), step_,
                                    facts_, environment_.files, environment_.clock));
    metrics_.add(std::move(sink));
  }
  if (config_.logging.tensorboard) {
    ASSIGN_OR_RETURN(
        auto sink, make_tensorboard_sink(join_path(config_.output_directory, "tensorboard"), step_,
                                         facts_, environment_.files, environment_.clock));
    metrics_.add(std::move(sink));
  }
  return absl::OkStatus();
}

Result<Batch> Trainer::next_batch() {
  const Goodput::Scope scope(goodput_, Goodput::kDataWait);
  watchdog_.enter("reading the batch of step", step_ + 1);
  return data_.train->next();
}

Status Trainer::dispatch() {
  ASSIGN_OR_RETURN(const Batch batch, next_batch());
  const double data_wait_s = data_.train->last_wait_ms() / 1e3;
  watchdog_.enter("launching step", step_ + 1);
  if (examples_log_) RETURN_IF_ERROR(examples_log_->add(step_ + 1, batch));
  between_steps_ = false;
  ASSIGN_OR_RETURN(Tree<Array> arguments, put_batch(*session_.runtime, batch, *train_step_, even_));
  const double rate = learning_rate(schedule_, step_ + 1);
  const float rate_f32 = static_cast<float>(rate);
  const HostArray host_rate = HostArray::from<float>(DType::kF32, {}, std::span(&rate_f32, 1));
  ASSIGN_OR_RETURN(Array rate_array,
                   Array::from_host(*session_.runtime, host_rate,
                                    NamedSharding::replicated(session_.layout.mesh)));
  RETURN_IF_ERROR(arguments.add("learning_rate", std::move(rate_array)));
  for (const auto& [path, array] : state_) RETURN_IF_ERROR(arguments.add(path, array));
  ASSIGN_OR_RETURN(const Tree<Array> results, call(*train_step_, arguments));
  Tree<Array> next;
  for (const auto& [path, array] : results) {
    if (!path.starts_with("metrics.")) RETURN_IF_ERROR(next.add(path, array));
  }
  state_ = std::move(next);
  ++step_;
  between_steps_ = true;
  pending_.push_back({step_, rate, data_wait_s, results.subtree("metrics")});
  return absl::OkStatus();
}

Status Trainer::complete_one() {
  const Pending pending = std::move(pending_.front());
  pending_.pop_front();
  watchdog_.enter("waiting for the end of step", pending.step);
  ASSIGN_OR_RETURN(const HostArray loss, pending.metrics.at("loss").to_host());
  ASSIGN_OR_RETURN(const HostArray grad_norm, pending.metrics.at("gradient_norm").to_host());
  const absl::Duration now = environment_.clock.elapsed();
  ASSIGN_OR_RETURN(const bool skipped, was_skipped(pending));
  RETURN_IF_ERROR(check_finite(pending, scalar_of(loss), scalar_of(grad_norm), skipped));
  StepMetrics metrics{.step = pending.step,
                      .loss = scalar_of(loss),
                      .learning_rate = pending.learning_rate,
                      .grad_norm = scalar_of(grad_norm),
                      .seconds = absl::ToDoubleSeconds(now - last_completion_),
                      .data_wait_seconds = pending.data_wait_s,
                      .tokens = config_.training.tokens_per_step(),
                      .extra = {}};
  if (config_.training.z_loss > 0) {
    ASSIGN_OR_RETURN(const HostArray cross_entropy, pending.metrics.at("cross_entropy").to_host());
    metrics.extra.push_back({"cross_entropy", scalar_of(cross_entropy)});
  }
  std::vector<std::string> names = session_.model->metric_names();
  names.insert(names.begin(), "aux_loss");
  for (const std::string& name : names) {
    const Array* metric = pending.metrics.find(name);
    if (!metric) continue;
    ASSIGN_OR_RETURN(const HostArray value, metric->to_host());
    metrics.extra.push_back({name, scalar_of(value)});
  }
  if (pending.metrics.contains("step_skipped")) {
    if (skipped)
      log_warning("step ", pending.step, ": no update, the loss or the gradients' norm is a spike");
    metrics.extra.push_back({"step_skipped", skipped ? 1 : 0});
  }
  metrics_.step(metrics);
  last_loss_ = metrics.loss;
  last_grad_norm_ = metrics.grad_norm;
  last_completion_ = now;
  watchdog_.add_step(metrics.seconds, metrics.data_wait_seconds);
  environment_.on_step(pending.step);
  return absl::OkStatus();
}

Status Trainer::complete_all() {
  while (!pending_.empty()) RETURN_IF_ERROR(complete_one());
  return absl::OkStatus();
}

Status Trainer::check_finite(const Pending& pending, double loss, double grad_norm, bool skipped) {
  if (std::isfinite(loss) && std::isfinite(grad_norm)) {
    not_finite_ = 0;
    return absl::OkStatus();
  }
  // A batch may be bad once; a state that gives nothing else is.
  if (skipped && ++not_finite_ < kMostNotFinite) return absl::OkStatus();
  state_is_bad_ = true;
  checkpoints_.finish(metrics_);
  std::string culprit = "the loss itself";
  if (const auto norms = pending.metrics.at("gradient_norms").to_host(); norms.ok()) {
    const Optimizer optimizer(config_.resolved_optimizer(), session_.model->params());
    const Tree<ParamSpec>& params = optimizer.trainable();
    for (size_t i = 0; i < params.size(); ++i) {
      if (std::isfinite(norms->as<float>()[i])) continue;
      culprit = str_cat("the gradient of params.", params[i].first);
      break;
    }
  }
  const std::string& good_folder = checkpoints_.good_folder();
  const std::string good = good_folder.empty() ? "there is no checkpoint yet"
                                               : "the last good checkpoint is " + good_folder;
  return absl::AbortedError(
      str_cat("step ", pending.step, ": loss ", loss, ", gradient norm ", grad_norm,
              "; first not finite: ", culprit, "; nothing of this state was saved; ", good,
              ". A lower schedule.learning_rate or a stricter optimizer.clip_norm may help"));
}

Status Trainer::evaluate() {
  if (!eval_step_) return absl::OkStatus();
  RETURN_IF_ERROR(complete_all());
  traffic_->end(step_);
  const Goodput::Scope scope(goodput_, Goodput::kValidation);
  const absl::Duration start = environment_.clock.elapsed();
  RETURN_IF_ERROR(data_.validation->seek(0));
  std::vector<Tree<Array>> sums;
  for (int64_t i = 0; i < config_.training.eval_batches && data_.validation->batches_left() > 0;
       ++i) {
    watchdog_.enter("validating after step", step_);
    ASSIGN_OR_RETURN(const Batch batch, data_.validation->next());
    ASSIGN_OR_RETURN(Tree<Array> arguments,
                     put_batch(*session_.runtime, batch, *eval_step_, even_));
    for (const auto& [path, array] : state_) {
      if (path.starts_with("params.")) RETURN_IF_ERROR(arguments.add(path, array));
    }
    ASSIGN_OR_RETURN(Tree<Array> result, call(*eval_step_, arguments));
    sums.push_back(std::move(result));
  }
  double cross_entropy = 0, weight = 0;
  watchdog_.enter("waiting for the validation after step", step_);
  for (const Tree<Array>& sum : sums) {
    ASSIGN_OR_RETURN(const HostArray part, sum.at("cross_entropy").to_host());
    ASSIGN_OR_RETURN(const HostArray part_weight, sum.at("weight").to_host());
    cross_entropy += scalar_of(part);
    weight += scalar_of(part_weight);
  }
  const absl::Duration now = environment_.clock.elapsed();
  EvalMetrics metrics{.step = step_,
                      .loss = cross_entropy / std::max(weight, 1.0),
                      .tokens = static_cast<int64_t>(weight),
                      .seconds = absl::ToDoubleSeconds(now - start),
                      .extra = {}};
  if (data_.unigram)
    metrics.extra.push_back({"unigram_loss", data_.unigram->validation_nats_per_token});
  metrics_.eval(metrics);
  outcome_.validation_loss = metrics.loss;
  if (weight > 0) {
    validated_step_ = step_;
    validation_loss_ = metrics.loss;
  }
  outcome_.reached_target = reaches_target();
  last_completion_ = now;
  traffic_->begin(step_);
  return absl::OkStatus();
}

// Whether the last validation was of the present state, and its loss is low enough to end the run.
bool Trainer::reaches_target() const {
  const std::optional<double>& target = config_.training.target_eval_loss;
  return target && validated_step_ == step_ && validation_loss_ <= *target;
}

Status Trainer::save(SaveTo to) {
  if (!config_.checkpoint.enabled) return absl::OkStatus();
  const absl::Duration asked = environment_.clock.elapsed();
  RETURN_IF_ERROR(complete_all());  // a state whose loss is not finite never gets here
  const Goodput::Scope scope(goodput_, Goodput::kCheckpoint);
  watchdog_.enter("saving the state after step", step_);
  Tree<Array> saved;
  for (const auto& [path, array] : state_) {
    if (is_saved(path, config_)) RETURN_IF_ERROR(saved.add(path, array));
  }
  Manifest manifest;
  manifest.data_json = data_.train->state().dump();
  Json metrics = Json::object();
  if (last_loss_) metrics["loss"] = *last_loss_;
  if (last_grad_norm_) metrics["grad_norm"] = *last_grad_norm_;
  if (validated_step_ == step_) metrics["eval_loss"] = validation_loss_;
  metrics["goodput"] = goodput_.to_json(outcome_.stopped);
  manifest.metrics_json = metrics.dump();
  RETURN_IF_ERROR(checkpoints_.save({.step = step_,
                                     .state = &saved,
                                     .manifest = std::move(manifest),
                                     .asked = asked,
                                     .may_skip = to.may_skip,
                                     .durable = to.durable,
                                     .local = to.local},
                                    metrics_));
  last_completion_ = environment_.clock.elapsed();
  return absl::OkStatus();
}

Status Trainer::save_if_due() {
  const SaveTo to = {
      .durable = due(config_.checkpoint.interval),
      .local = local_tier_ != nullptr && due(config_.checkpoint.local.interval),
      // Several processes make the same saves: one of them cannot leave one out by itself.
      .may_skip = config_.checkpoint.skip_when_busy && peers_.alone()};
  return to.durable || to.local ? save(to) : absl::OkStatus();
}

// What was trained up to an error that says nothing against it, such as one of the data.
void Trainer::save_after(const Status& error) {
  // Of several processes the others know nothing of this one's error.
  const bool wanted =
      config_.checkpoint.enabled && config_.checkpoint.save_on_error && peers_.alone();
  if (wanted && !state_is_bad_ && between_steps_ && step_ > first_step_) {
    const Status saved = save();
    if (saved.ok()) {
      log_info("the run ends with an error; the state after step ", step_, " is saved");
    } else if (saved != error) {
      log_warning("the state could not be saved: ", from_absl(saved.message()));
    }
  }
  checkpoints_.finish(metrics_);
}

Status Trainer::train_on() {
  if (config_.checkpoint.save_on_start && step_ == 0) RETURN_IF_ERROR(save());
  traffic_->begin(step_);
  bool evaluated = step_ >= config_.training.steps;  // before the save that this run resumed from
  while (step_ < config_.training.steps && !outcome_.stopped && !outcome_.regroup &&
         !outcome_.reached_target) {
    RETURN_IF_ERROR(dispatch());
    evaluated = false;
    if (pending_.size() >= kStepsAhead) RETURN_IF_ERROR(complete_one());
    checkpoints_.report(metrics_);
    if (due(config_.training.eval_interval)) {
      RETURN_IF_ERROR(evaluate());
      evaluated = true;
    }
    // Before a save, which would keep what differs.
    if (due(config_.guards.replica_check_interval)) RETURN_IF_ERROR(compare_replicas());
    RETURN_IF_ERROR(save_if_due());
    RETURN_IF_ERROR(look_for_ends());
  }
  RETURN_IF_ERROR(complete_all());
  traffic_->end(step_);
  if (outcome_.regroup)
    return save({.durable = local_tier_ == nullptr, .local = local_tier_ != nullptr});
  if (!outcome_.stopped && !evaluated) RETURN_IF_ERROR(evaluate());
  if (const auto traffic = traffic_->per_step()) log_info("sent ", to_string(*traffic));
  const bool wanted =
      outcome_.stopped ? config_.checkpoint.save_on_stop : config_.checkpoint.save_on_end;
  return wanted && step_ > first_step_ ? save() : absl::OkStatus();
}

// That devices hold alike what they should.
Status Trainer::compare_replicas() {
  RETURN_IF_ERROR(complete_all());
  watchdog_.enter("comparing replicas after step", step_);
  const Status equal = check_replicas(
      state_, [this](const std::string& own) { return peers_.gather_everywhere(own); });
  if (equal.ok()) log_debug("replicas are equal at step ", step_);
  state_is_bad_ = state_is_bad_ || !equal.ok();
  return annotate(equal, str_cat("guards.replica_check_interval: after step ", step_));
}

// Whether the run ends before the next step, as asked: in all processes at the same step.
Result<bool> Trainer::must_stop() {
  ASSIGN_OR_RETURN(const bool stop,
                   peers_.agree_on_step("stop", step_, environment_.stop_requested()));
  return stop && step_ < config_.training.steps;
}

Status Trainer::look_for_ends() {
  watchdog_.enter("agreeing with the others whether to go on after step", step_);
  ASSIGN_OR_RETURN(outcome_.stopped, must_stop());
  if (!environment_.regroup_requested) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool regroup,
                   peers_.agree_on_step("regroup", step_, environment_.regroup_requested()));
  outcome_.regroup = regroup && !outcome_.stopped && step_ < config_.training.steps;
  if (outcome_.regroup) log_info("after step ", step_, ": a process has come, and joins");
  return absl::OkStatus();
}

void Trainer::finish_saves() {
  const Goodput::Scope scope(goodput_, Goodput::kCheckpoint);
  watchdog_.enter("finishing its saves after step", step_);
  checkpoints_.finish(metrics_);
}

void Trainer::report_goodput() {
  if (outcome_.regroup || step_ == first_step_) return;  // a run that was complete adds nothing
  const auto seconds = goodput_.seconds();
  GoodputMetrics metrics{.step = step_, .wall_seconds = goodput_.wall_seconds(), .seconds = {}};
  for (int i = 0; i < Goodput::kKinds; ++i) {
    const std::string_view kind = Goodput::name(static_cast<Goodput::Kind>(i));
    metrics.seconds.push_back({std::string(kind), seconds[i]});
  }
  metrics_.goodput(metrics);
  log_info("time: ", to_text(seconds));
}

Result<TrainOutcome> Trainer::run() {
  const TransferGuard guard(config_.guards.transfer);
  last_completion_ = environment_.clock.elapsed();
  if (step_ >= config_.training.steps) {
    log_info("the run is complete: ", step_, " of ", config_.training.steps,
             " steps; raise training.steps to go on");
  } else if (reaches_target()) {
    log_info("the run is complete: its validation loss at step ", step_, " is ", validation_loss_,
             "; lower training.target_eval_loss to go on");
    outcome_.reached_target = true;
    outcome_.validation_loss = validation_loss_;
  }
  first_step_ = step_;
  watchdog_.begin_training();
  RETURN_IF_ERROR(look_for_ends());
  goodput_.enter(Goodput::kTraining);
  const Status status = name_guard(train_on());
  if (!status.ok()) {
    save_after(status);
    return status;
  }
  finish_saves();
  // Who is left behind by one that died in the end would begin anew alone.
  if (environment_.all_processes > 0)
    RETURN_IF_ERROR(peers_.agree("ending the run", absl::OkStatus()));
  // What is near is of use only until there is a durable one.
  if (local_tier_ && !outcome_.stopped && !outcome_.regroup && checkpoints_.is_durable(step_))
    RETURN_IF_ERROR(local_tier_->discard());
  report_goodput();
  metrics_.finish();
  log_transfers();
  outcome_.step = step_;
  outcome_.save_failure = checkpoints_.failure();
  return outcome_;
}

// For people and scripts; checkpoints hold their own.
Status write_config(RunConfig config, FileSystem& files) {
  return files.write_file_atomic(join_path(config.output_directory, "config.yaml"),
                                 ConfigFields(config).to_yaml());
}

Status check_task(const RunConfig& config, const TokenStore& store) {
  if (config.task != Task::kSft || store.has_loss_mask()) return absl::OkStatus();
  return usage_error(failed_precondition("task is sft, but the data.store ", store.folder(),
                                         " does not say what to learn: name another ",
                                         "folder, and in data.corpus JSON lines with \"messages\" "
                                         "to build it from; or set task=pretrain"));
}

// One process builds it where it is not there yet; the others open what that one built.
Result<TokenStores> open_stores(const RunConfig& config, FileSystem& files, Peers& peers) {
  TokenStores stores;
  const auto open = [&]() -> Status {
    ASSIGN_OR_RETURN(stores, open_or_build_stores(config.data, config.task, files));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(peers.lead("opening data.store", open));
  RETURN_IF_ERROR(peers.agree("opening what was built", peers.leads() ? absl::OkStatus() : open()));
  for (const auto& store : stores) RETURN_IF_ERROR(check_task(config, *store));
  return stores;
}

// Of each batch those that this process reads.
Result<std::vector<int64_t>> rows_of_this_process(const Session& session) {
  const int64_t process = session.runtime->client().process_index();
  ASSIGN_OR_RETURN(const auto processes, session.runtime->processes(session.layout.mesh));
  auto found = rows_to_read(session.config, session.layout, processes, process);
  if (!found.ok()) return usage_error(annotate(found.status(), "data.loading"));
  std::vector<int64_t> rows = *std::move(found);
  const int64_t all = session.config.training.batch_size;
  if (std::ssize(rows) < all) log_info("data: reads ", rows.size(), " of ", all, " rows a batch");
  return rows;
}

/// Connects a watch with the devices' client while it lives.
class Attached {
 public:
  Attached(MemberWatch* watch, const pjrt::Client& client) : watch_(watch) {
    if (watch_ != nullptr) watch_->attach(client);
  }
  ~Attached() {
    if (watch_ != nullptr) watch_->detach();
  }

 private:
  MemberWatch* watch_;
};

Result<TrainOutcome> train_together(const RunConfig& config, const TrainEnvironment& environment,
                                    Peers& peers, Goodput& goodput) {
  // Before the devices, whose clients would wait for each other with other options.
  RETURN_IF_ERROR(check_same_settings(config, peers));
  WatchdogOptions watching;
  watching.hang_timeout = config.fault_tolerance.hang_timeout_s > 0
                              ? absl::Seconds(config.fault_tolerance.hang_timeout_s)
                              : absl::InfiniteDuration();
  watching.slow_factor = config.fault_tolerance.slow_factor;
  Watchdog watchdog(peers, environment.clock, watching);
  // What a recipe asks of model, mesh and devices that cannot be: before anything is made.
  ASSIGN_OR_RETURN(Session session,
                   Session::open(config, peers.group(), environment.all_processes));
  const pjrt::Client& client = session.runtime->client();
  RETURN_IF_ERROR(check_offloading(config.training, client.platform_name()));
  std::optional<RunLock> lock;
  RETURN_IF_ERROR(peers.lead("opening output_directory", [&]() -> Status {
    RETURN_IF_ERROR(
        annotate(environment.files.create_dirs(config.output_directory), "output_directory"));
    ASSIGN_OR_RETURN(RunLock taken, RunLock::take(config.output_directory));
    lock.emplace(std::move(taken));
    return absl::OkStatus();
  }));
  // What is not saved into it may be on each machine's own disk.
  if (config.checkpoint.enabled && !config.checkpoint.directory.empty()) {
    RETURN_IF_ERROR(check_same_folder("checkpoint.directory", config.checkpoint.directory,
                                      environment.files, peers));
  } else if (config.checkpoint.enabled) {
    RETURN_IF_ERROR(
        check_same_folder("output_directory", config.output_directory, environment.files, peers));
  }
  ASSIGN_OR_RETURN(const TokenStores stores, open_stores(config, environment.files, peers));
  for (const auto& store : stores) RETURN_IF_ERROR(check_same_store(*store, peers));
  ASSIGN_OR_RETURN(auto tokenizer, stores[0]->tokenizer());
  const Status vocabulary = config.validate_vocabulary(tokenizer->vocab_size());
  if (!vocabulary.ok()) return usage_error(vocabulary);
  ASSIGN_OR_RETURN(const std::vector<int64_t> rows, rows_of_this_process(session));
  ASSIGN_OR_RETURN(TrainingData data, TrainingData::open(session.config, stores, rows));
  Trainer trainer(std::move(session), std::move(data), environment, peers, goodput, watchdog);
  const Attached attached(environment.watch, client);
  const Watchdog::Devices devices(watchdog, client);
  RETURN_IF_ERROR(trainer.prepare());
  // Only now: a config that the run's state does not fit must leave the run's own in place.
  RETURN_IF_ERROR(
      peers.lead("writing config.yaml", [&] { return write_config(config, environment.files); }));
  return trainer.run();
}

}  // namespace

Result<TrainOutcome> train(const RunConfig& config, const TrainEnvironment& environment) {
  Peers alone;
  Peers& peers = environment.peers != nullptr ? *environment.peers : alone;
  Goodput from_now(environment.clock);
  Goodput& goodput = environment.goodput != nullptr ? *environment.goodput : from_now;
  return train_together(config, environment, peers, goodput);
}

}  // namespace tessera
