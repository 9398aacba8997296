// The options of PJRT_Client_Create.
#include "plugins/cpu/client_options.h"

namespace tessera::pjrt_cpu {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
// Device ids are 2048 * process + device, and fit into 31 bits.
constexpr int64_t kMostProcesses = 1 << 20;

struct IntOption {
  std::string_view name;
  int64_t low, high;
  void (*set)(ClientOptions&, int64_t);
};

constexpr IntOption kIntOptions[] = {
    {"cpu_device_count", 1, xla::kMaxCpuDevicesPerProcess - 1,
     [](ClientOptions& to, int64_t value) { to.cpu_device_count = value; }},
    {"memory_limit_bytes", 0, kMost,
     [](ClientOptions& to, int64_t value) { to.memory_limit_bytes = value; }},
    {"node_id", 0, kMostProcesses - 1,
     [](ClientOptions& to, int64_t value) { to.node_id = value; }},
    {"num_nodes", 1, kMostProcesses,
     [](ClientOptions& to, int64_t value) { to.num_nodes = value; }},
    {"slice_index", 0, kMostProcesses,
     [](ClientOptions& to, int64_t value) { to.slice_index = value; }},
    {"partition_index", 0, kMostProcesses,
     [](ClientOptions& to, int64_t value) { to.slice_index = value; }},
    {"client_number", 0, std::numeric_limits<int>::max(),
     [](ClientOptions& to, int64_t value) { to.client_number = value; }},
    {"topology_timeout_ms", 1, std::numeric_limits<int>::max(),
     [](ClientOptions& to, int64_t value) { to.topology_timeout_ms = value; }},
    {"collective_timeout_ms", 1, std::numeric_limits<int>::max(),
     [](ClientOptions& to, int64_t value) { to.collective_timeout_ms = value; }},
};

struct TextOption {
  std::string_view name;
  std::string ClientOptions::*field;
};

constexpr TextOption kTextOptions[] = {
    {"platform_name", &ClientOptions::platform_name},
    {"collectives_interface", &ClientOptions::collectives_interface},
    {"collectives_address", &ClientOptions::collectives_address},
};

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

absl::Status unknown_option(std::string_view name) {
  std::vector<std::string_view> names;
  for (const IntOption& option : kIntOptions) names.push_back(option.name);
  for (const TextOption& option : kTextOptions) names.push_back(option.name);
  const auto nearest = std::min_element(names.begin(), names.end(), [&](auto a, auto b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  return invalid(absl::StrCat("unknown create option '", name, "'; did you mean '", *nearest,
                              "'? Known: ", absl::StrJoin(names, ", ")));
}

absl::Status take_int(const PJRT_NamedValue& given, const IntOption& option, ClientOptions& to) {
  if (given.type != PJRT_NamedValue_kInt64)
    return invalid(absl::StrCat("create option '", option.name, "' must be an integer"));
  if (given.int64_value < option.low || given.int64_value > option.high) {
    return invalid(absl::StrCat("create option '", option.name, "' is ", given.int64_value,
                                ", must be from ", option.low, " to ", option.high));
  }
  option.set(to, given.int64_value);
  return absl::OkStatus();
}

absl::Status take_text(const PJRT_NamedValue& given, const TextOption& option, ClientOptions& to) {
  if (given.type != PJRT_NamedValue_kString || given.string_value == nullptr ||
      given.value_size == 0) {
    return invalid(
        absl::StrCat("create option '", option.name, "' must be a string that is not empty"));
  }
  to.*option.field = view(given.string_value, given.value_size);
  return absl::OkStatus();
}

absl::Status take_option(const PJRT_NamedValue& given, ClientOptions& to) {
  TF_RETURN_IF_ERROR(
      check_struct_size("PJRT_NamedValue", PJRT_NamedValue_STRUCT_SIZE, given.struct_size));
  TF_RETURN_IF_ERROR(require(given.name, "create_options.name"));
  const std::string_view name = view(given.name, given.name_size);
  for (const IntOption& option : kIntOptions) {
    if (option.name == name) return take_int(given, option, to);
  }
  for (const TextOption& option : kTextOptions) {
    if (option.name == name) return take_text(given, option, to);
  }
  return unknown_option(name);
}

}  // namespace

absl::StatusOr<ClientOptions> read_options(const PJRT_Client_Create_Args& args) {
  ClientOptions options;
  if (args.num_options > 0) TF_RETURN_IF_ERROR(require(args.create_options, "create_options"));
  for (size_t i = 0; i < args.num_options; ++i)
    TF_RETURN_IF_ERROR(take_option(args.create_options[i], options));
  if (options.node_id >= options.num_nodes) {
    return invalid(absl::StrCat("create option 'node_id' is ", options.node_id,
                                ", but there are only ", options.num_nodes,
                                " nodes ('num_nodes')"));
  }
  if (!options.collectives_interface.empty() && !options.collectives_address.empty()) {
    return invalid(
        "create options 'collectives_interface' and 'collectives_address' are both given: choose "
        "one");
  }
  return options;
}

}  // namespace tessera::pjrt_cpu
