// usage: bench_checkpoint FOLDER [SAVES]
// Saves and restores a state of 403 MB over four CPU devices, on the disk that FOLDER is on, and
// compares with that disk's own sequential rate. After each save a step runs that is given the
// state and works in its memory, as steps of training do: who returns from save() before the state
// is copied pays there. Prints one JSON line. bench/checkpoint runs it beside Orbax.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "bench/bench.h"
#include "tessera/base/clock.h"
#include "tessera/ops/elementwise_binary.h"
#include "tessera/train/session.h"
#include "tessera/train/state_checkpoint.h"

namespace tessera {
namespace {

constexpr int kLarge = 12, kSmall = 12, kRestores = 5, kStepsBefore = 3;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double rss_mb() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

std::vector<ArgumentSpec> specs() {
  std::vector<ArgumentSpec> specs;
  for (int i = 0; i < kLarge; ++i) {
    specs.push_back(
        {str_cat("params.large", i), {DType::kF32, {4, 1024, 2048}}, {"layers", "embed", "mlp"}});
  }
  for (int i = 0; i < kSmall; ++i)
    specs.push_back({str_cat("params.small", i), {DType::kF32, {2048}}, {"norm"}});
  return specs;
}

Result<Tree<Array>> make_state(Runtime& runtime, const Layout& layout) {
  Tree<Array> state;
  std::mt19937 random;
  for (const ArgumentSpec& spec : specs()) {
    HostArray host(spec.shape);
    for (float& value : host.as<float>())
      value = static_cast<float>(random()) * 0x1p-31f - 1;  // as hard to squeeze as weights
    ASSIGN_OR_RETURN(const ProgramValue value, lay_out(spec, layout));
    ASSIGN_OR_RETURN(Array array, Array::from_host(runtime, host, value.sharding));
    RETURN_IF_ERROR(state.add(spec.path, std::move(array)));
  }
  RETURN_IF_ERROR(wait_until_ready(state));
  return state;
}

/// x * 1.0001 of every array, in place.
Result<CompiledFunction> compile_step(Runtime& runtime, const Layout& layout) {
  std::vector<NamedShape> parameters;
  std::vector<LogicalValue> values;
  for (const ArgumentSpec& spec : specs()) {
    parameters.push_back({spec.path, spec.shape});
    values.push_back(logical_value(spec, layout));
  }
  ASSIGN_OR_RETURN(const auto graph, trace(parameters, [](Graph&, std::span<const Value> inputs) {
                     std::vector<Value> results;
                     for (const Value& x : inputs) results.push_back(x * 1.0001);
                     return results;
                   }));
  return jit(runtime, *graph,
             {.name = "step",
              .mesh = layout.mesh,
              .rules = layout.rules,
              .arguments = values,
              .results = values,
              .donate = {"params"}});
}

/// Seconds until the step's results are there.
Result<double> run_step(const CompiledFunction& step, Tree<Array>& state, const Clock& clock) {
  const absl::Duration start = clock.elapsed();
  ASSIGN_OR_RETURN(state, call(step, state));
  RETURN_IF_ERROR(wait_until_ready(state));
  return absl::ToDoubleSeconds(clock.elapsed() - start);
}

/// Drops the files of a folder from the page cache, so that reading them is reading the disk.
void forget(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const int descriptor = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    close(descriptor);
  }
}

/// Bytes a second of one file of `bytes`, written in large blocks and synced.
Result<double> disk_rate(FileSystem& files, const std::string& path, int64_t bytes,
                         const Clock& clock) {
  const std::vector<std::byte> block(8 << 20, std::byte{0x5A});
  const absl::Duration start = clock.elapsed();
  ASSIGN_OR_RETURN(const auto file, files.create_file(path));
  for (int64_t done = 0; done < bytes; done += static_cast<int64_t>(block.size()))
    RETURN_IF_ERROR(file->append(block));
  RETURN_IF_ERROR(file->sync());
  RETURN_IF_ERROR(file->close());
  const double seconds = absl::ToDoubleSeconds(clock.elapsed() - start);
  RETURN_IF_ERROR(files.remove(path));
  return static_cast<double>(bytes) / seconds;
}

/// Bytes a second of the files of a folder, read one after the other from the disk, a megabyte a
/// time: what a restore cannot be much above.
Result<double> read_rate(FileSystem& files, const std::string& folder, const Clock& clock) {
  forget(folder);
  std::vector<std::byte> block(1 << 20);
  int64_t bytes = 0;
  const absl::Duration start = clock.elapsed();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    ASSIGN_OR_RETURN(const auto file, files.open_file(entry.path()));
    for (int64_t done = 0; done < file->size_bytes(); done += std::ssize(block)) {
      const int64_t count = std::min(std::ssize(block), file->size_bytes() - done);
      RETURN_IF_ERROR(file->read_at(done, std::span(block).first(static_cast<size_t>(count))));
      bytes += count;
    }
  }
  return static_cast<double>(bytes) / absl::ToDoubleSeconds(clock.elapsed() - start);
}

Result<bool> is_same(const Tree<Array>& a, const Tree<Array>& b) {
  for (const auto& [path, array] : a) {
    ASSIGN_OR_RETURN(const HostArray x, array.to_host());
    ASSIGN_OR_RETURN(const HostArray y, b.at(path).to_host());
    if (!std::equal(x.bytes().begin(), x.bytes().end(), y.bytes().begin())) return false;
  }
  return true;
}

Status run(const std::string& folder, int saves) {
  const RealClock clock;
  PosixFileSystem files;
  ASSIGN_OR_RETURN(const auto runtime,
                   Runtime::create({.plugin = "cpu", .cpu_devices = 4, .client_options = {}}));
  MeshConfig mesh;
  mesh.ici_degree("fsdp") = 4;
  mesh.ici_degree("data") = 1;
  ASSIGN_OR_RETURN(const Slices slices, mesh.slices(4));
  ASSIGN_OR_RETURN(mesh, mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Layout layout, make_layout(mesh, slices));
  ASSIGN_OR_RETURN(Tree<Array> state, make_state(*runtime, layout));
  ASSIGN_OR_RETURN(const CompiledFunction step, compile_step(*runtime, layout));
  for (int i = 0; i < kStepsBefore; ++i) RETURN_IF_ERROR(run_step(step, state, clock).status());
  int64_t bytes = 0;
  for (const ArgumentSpec& spec : specs()) bytes += spec.shape.host_bytes();

  const std::string directory = join_path(folder, "tessera");
  RETURN_IF_ERROR(files.remove_tree(directory));
  RETURN_IF_ERROR(files.create_dirs(directory));
  const CheckpointManager manager(files, directory, {.keep_last = 1});
  const double before_mb = rss_mb();
  std::vector<double> steps, stalls, stalls_with_step, writes, commits, totals, rates, restores,
      read_rates, resident;
  {
    StagingPool pool;
    const SaveShares shares(state);
    CheckpointSaver saver(manager, clock, {.refuse_not_finite = true});
    for (int i = 0; i <= saves; ++i) {
      const bool is_measured = i < saves;  // the last one is what is restored: no step follows
      // Each beside the other, so that what else the machine does meets both.
      ASSIGN_OR_RETURN(const double rate,
                       disk_rate(files, join_path(folder, "sequential"), bytes, clock));
      rates.push_back(rate);
      ASSIGN_OR_RETURN(const double undisturbed, run_step(step, state, clock));
      const absl::Duration start = clock.elapsed();
      ASSIGN_OR_RETURN(SaveRequest request, copy_to_host(i, state, shares, pool));
      const auto done = saver.save(std::move(request));
      const double stall = absl::ToDoubleSeconds(clock.elapsed() - start);
      if (is_measured) {
        ASSIGN_OR_RETURN(const double seconds, run_step(step, state, clock));
        stalls_with_step.push_back(stall + seconds - undisturbed);
      }
      const SaveResult& result = done.get();
      RETURN_IF_ERROR(result.status);
      if (!is_measured) break;
      steps.push_back(undisturbed);
      stalls.push_back(stall);
      totals.push_back(stalls.back() + result.write_s + result.commit_s);
      writes.push_back(result.write_s);
      commits.push_back(result.commit_s);
      resident.push_back(rss_mb());
    }
  }
  const double save_memory_mb = bench::peak_rss_mb() * 1.048576 - before_mb;
  bool same = true;
  for (int i = 0; i < kRestores; ++i) {
    ASSIGN_OR_RETURN(const double rate, read_rate(files, directory, clock));
    read_rates.push_back(rate);
    forget(directory);
    const absl::Duration start = clock.elapsed();
    ASSIGN_OR_RETURN(const auto reader, manager.open(saves));
    ASSIGN_OR_RETURN(const Tree<Array> restored, restore(*runtime, *reader, specs(), layout));
    RETURN_IF_ERROR(wait_until_ready(restored));
    restores.push_back(absl::ToDoubleSeconds(clock.elapsed() - start));
    ASSIGN_OR_RETURN(same, is_same(restored, state));
    if (!same) break;
  }
  RETURN_IF_ERROR(files.remove_tree(directory));
  const double rate = static_cast<double>(bytes) / median(totals);
  std::printf(
      "{\"bench\": \"checkpoint\", \"program\": \"tessera\", \"state_mb\": %.1f, \"saves\": %d, "
      "\"stall_s\": %.4f, \"stall_with_step_s\": %.4f, \"step_s\": %.4f, \"save_s\": %.3f, "
      "\"write_s\": %.3f, \"commit_s\": %.3f, \"restore_s\": "
      "%.3f, \"read_disk_mb_s\": %.1f, \"same\": %s, \"share_of_disk\": %.3f, \"disk_mb_s\": %.1f, "
      "\"save_memory_mb\": %.1f, "
      "\"resident_mb_first_save\": %.1f, \"resident_mb_last_save\": %.1f}\n",
      static_cast<double>(bytes) / 1e6, saves, median(stalls), median(stalls_with_step),
      median(steps), median(totals), median(writes), median(commits), median(restores),
      median(read_rates) / 1e6, same ? "true" : "false", rate / median(rates), median(rates) / 1e6,
      save_memory_mb, resident.front(), resident.back());
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const int saves = argc > 2 ? std::atoi(argv[2]) : 5;
  if (argc < 2 || saves < 1) {
    std::fprintf(stderr, "usage: bench_checkpoint FOLDER [SAVES]\n");
    return 2;
  }
  const tessera::Status status = tessera::run(argv[1], saves);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_checkpoint: %s\n", std::string(status.message()).c_str());
  return 1;
}
