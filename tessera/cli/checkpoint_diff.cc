#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_format.h"
#include "tessera/base/format.h"
#include "tessera/base/json.h"
#include "tessera/cli/checkpoint_commands.h"
#include "tessera/cli/checkpoint_folder.h"
#include "tessera/storage/any_filesystem.h"
#include "tessera/train/config_changes.h"

namespace tessera::cli {
namespace {

/// How two arrays of one shape differ.
struct Difference {
  int64_t elements = 0;  // that are not the same
  double largest = 0;    // of the absolute differences; NaN where one side is
  double relative = 0;   // norm of the difference over the first one's norm
};

Difference compare(const HostArray& a, const HostArray& b) {
  Difference difference;
  const std::vector<double> x = to_doubles(a), y = to_doubles(b);
  double squares = 0, norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    norm += x[i] * x[i];
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    ++difference.elements;
    const double delta = std::abs(x[i] - y[i]);
    squares += delta * delta;
    if (std::isnan(delta) || delta > difference.largest) difference.largest = delta;
  }
  difference.relative = norm > 0 ? std::sqrt(squares / norm) : std::sqrt(squares);
  return difference;
}

class CheckpointDiff : public Command {
 public:
  CommandText text() const override {
    return {.name = "checkpoint diff",
            .operands = "RUN [OTHER]",
            .summary = "Shows where two checkpoints differ: settings, arrays, values.",
            .details =
                "RUN and OTHER are runs' output directories, or folders of their checkpoints; of "
                "one run, name two steps. Reads both in full. Exits 1 when they differ.",
            .min_operands = 1,
            .max_operands = 2};
  }

  void fields(ConfigFields& f) override {
    f.field("step", step_).at_least(0).or_value(-1).help("Of RUN; -1: the newest good one.");
    f.field("other_step", other_step_)
        .at_least(0)
        .or_value(-1)
        .help("Of OTHER, or of RUN without one; -1: the newest good one.");
  }

  Result<int> run(const Invocation& invocation) override {
    AnyFileSystem files;
    ASSIGN_OR_RETURN(const auto a, open_checkpoint(files, invocation.operands.front(), step_));
    ASSIGN_OR_RETURN(const auto b, open_checkpoint(files, invocation.operands.back(), other_step_));
    invocation.out << "a: " << a->folder() << "\nb: " << b->folder() << "\n";
    bool same = print_manifests(invocation, a->manifest(), b->manifest());
    TextTable table({false, false, true, true, true});
    std::set<std::string> names;
    for (const CheckpointReader* reader : {a.get(), b.get()})
      for (const ArrayRecord& array : reader->manifest().arrays) names.insert(array.spec.name);
    int64_t equal = 0;
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(const bool is_same, add_array(*a, *b, name, table));
      equal += is_same;
    }
    same &= equal == static_cast<int64_t>(names.size());
    invocation.out << table.text() << equal << " of " << names.size()
                   << " arrays are the same, bit for bit\n";
    return same ? 0 : 1;
  }

 private:
  static bool print_manifests(const Invocation& invocation, const Manifest& a, const Manifest& b) {
    bool same = true;
    const auto print = [&](std::string_view what, const std::string& x, const std::string& y) {
      if (x == y) return;
      same = false;
      invocation.out << what << ": " << x << " | " << y << "\n";
    };
    print("step", str_cat(a.step), str_cat(b.step));
    print("program", a.program_json, b.program_json);
    print("mesh", a.mesh_json, b.mesh_json);
    print("rules", a.rules_json, b.rules_json);
    print("data", a.data_json, b.data_json);
    print("metrics", a.metrics_json, b.metrics_json);
    const auto before = parse_json(a.config_json, "a"), after = parse_json(b.config_json, "b");
    if (!before.ok() || !after.ok()) return same;
    for (const std::string& change : config_changes(*before, *after)) {
      same = false;
      invocation.out << "config: " << change << "\n";
    }
    return same;
  }

  /// Adds a row where they differ.
  static Result<bool> add_array(const CheckpointReader& a, const CheckpointReader& b,
                                const std::string& name, TextTable& table) {
    const ArrayRecord* first = a.manifest().find(name);
    const ArrayRecord* second = b.manifest().find(name);
    if (first == nullptr || second == nullptr) {
      table.add({name, first ? "only in a" : "only in b", "", "", ""});
      return false;
    }
    if (first->spec.shape != second->spec.shape) {
      table.add({name, str_cat(to_string(first->spec.shape), " | ", to_string(second->spec.shape)),
                 "", "", ""});
      return false;
    }
    ASSIGN_OR_RETURN(const HostArray x, a.read_array(name));
    ASSIGN_OR_RETURN(const HostArray y, b.read_array(name));
    if (std::equal(x.bytes().begin(), x.bytes().end(), y.bytes().begin())) return true;
    const Difference difference = compare(x, y);
    table.add({name, to_string(first->spec.shape), str_cat(difference.elements, " elements differ"),
               absl::StrFormat("by up to %.3g", difference.largest),
               absl::StrFormat("%.3g of the norm", difference.relative)});
    return false;
  }

  int64_t step_ = -1;
  int64_t other_step_ = -1;
};

}  // namespace

std::unique_ptr<Command> checkpoint_diff() { return std::make_unique<CheckpointDiff>(); }

}  // namespace tessera::cli
