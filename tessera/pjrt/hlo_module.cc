#include "tessera/pjrt/hlo_module.h"

#include <algorithm>

#include "tessera/base/strings.h"
#include "tessera/pjrt/wire_format_internal.h"

// Field numbers are those of xla/service/hlo.proto and xla/xla_data.proto, which keep them for
// good.

namespace tessera::pjrt {
namespace {

// Bits of an element, by PrimitiveType: PRED, S8, S16, S32, S64, U8, U16, U32, U64, F16, F32, F64,
// TUPLE, OPAQUE, C64, BF16, TOKEN, C128, F8E5M2, F8E4M3FN, S4, U4, three more F8, S2, U2, two more
// F8, S1, U1, F4E2M1FN, F8E8M0FNU.
constexpr int kBits[] = {0, 8,   8, 16, 32, 64, 8, 16, 32, 64, 16, 32, 64, 0, 0, 64, 16,
                         0, 128, 8, 8,  4,  4,  8, 8,  8,  2,  2,  8,  8,  1, 1, 4,  8};

bool parse_shape(std::string_view bytes, HloShape& shape) {
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field)) {
    if (field.number == 2 && field.value < std::size(kBits))
      shape.element_bytes = kBits[field.value] / 8.0;
    if (field.number == 3) reader.numbers(field, [&](int64_t dim) { shape.dims.push_back(dim); });
    if (field.number == 4 && !parse_shape(field.bytes, shape.parts.emplace_back())) return false;
  }
  return !reader.failed();
}

constexpr int64_t kMostDevices = int64_t{1} << 24;

using Groups = std::vector<std::vector<int64_t>>;

bool parse_group(std::string_view bytes, Groups& groups) {
  WireReader reader(bytes);
  WireField field;
  std::vector<int64_t>& group = groups.emplace_back();
  while (reader.next(field)) {
    if (field.number == 1) reader.numbers(field, [&](int64_t id) { group.push_back(id); });
  }
  return !reader.failed();
}

// Groups as a recipe: the ids 0, 1, 2, ... in the shape `dims`, transposed, cut into rows.
bool parse_iota_groups(std::string_view bytes, Groups& groups) {
  WireReader reader(bytes);
  WireField field;
  int64_t count = 0, size = 0;
  std::vector<int64_t> dims, permutation;
  while (reader.next(field)) {
    if (field.number == 1) count = static_cast<int64_t>(field.value);
    if (field.number == 2) size = static_cast<int64_t>(field.value);
    if (field.number == 3) reader.numbers(field, [&](int64_t dim) { dims.push_back(dim); });
    if (field.number == 4) reader.numbers(field, [&](int64_t dim) { permutation.push_back(dim); });
  }
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim < 1 || dim > kMostDevices) return false;
    product *= dim;
    if (product > kMostDevices) return false;
  }
  std::vector<int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  if (reader.failed() || dims.size() != permutation.size() || count < 1 || size < 1 ||
      count > kMostDevices || size > kMostDevices || product != count * size)
    return false;
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  for (int64_t index = 0; index < product; ++index) {
    int64_t rest = index, id = 0;
    for (size_t i = permutation.size(); i-- > 0;) {
      id += rest % dims[permutation[i]] * strides[permutation[i]];
      rest /= dims[permutation[i]];
    }
    if (index % size == 0) groups.emplace_back();
    groups.back().push_back(id);
  }
  return true;
}

bool parse_device_list(std::string_view bytes, Groups& groups) {
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field)) {
    if (field.number == 1 && !parse_group(field.bytes, groups)) return false;
    if (field.number == 2 && !parse_iota_groups(field.bytes, groups)) return false;
  }
  return !reader.failed();
}

bool parse_pair(std::string_view bytes, std::vector<std::pair<int64_t, int64_t>>& pairs) {
  WireReader reader(bytes);
  WireField field;
  auto& [source, target] = pairs.emplace_back();
  while (reader.next(field)) {
    if (field.number == 1) source = static_cast<int64_t>(field.value);
    if (field.number == 2) target = static_cast<int64_t>(field.value);
  }
  return !reader.failed();
}

bool parse_dot(std::string_view bytes, std::vector<int64_t>& lhs_contracting) {
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field)) {
    if (field.number == 1)
      reader.numbers(field, [&](int64_t dim) { lhs_contracting.push_back(dim); });
  }
  return !reader.failed();
}

// The compiler leaves it as JSON: {"known_trip_count":{"n":"48"}, ...}.
int64_t parse_trip_count(std::string_view config) {
  const size_t at = config.find("\"known_trip_count\"");
  if (at == std::string_view::npos) return 1;
  const size_t digits = config.find_first_of("0123456789", at);
  int64_t count = 0;
  for (size_t i = digits; i < config.size() && config[i] >= '0' && config[i] <= '9'; ++i)
    count = count * 10 + (config[i] - '0');
  return std::max<int64_t>(count, 1);
}

bool parse_instruction(std::string_view bytes, HloInstruction& instruction) {
  WireReader reader(bytes);
  WireField field;
  bool good = true;
  std::string_view backend_config;
  const auto append = [&](std::vector<int64_t>& list) {
    good = good && reader.numbers(field, [&](int64_t id) { list.push_back(id); });
  };
  while (reader.next(field)) {
    switch (field.number) {
      case 1:
        instruction.name = field.bytes;
        break;
      case 2:
        instruction.opcode = field.bytes;
        break;
      case 3:
        good = good && parse_shape(field.bytes, instruction.shape);
        break;
      case 9:
        instruction.parameter = static_cast<int64_t>(field.value);
        break;
      case 28:
        instruction.custom_call_target = field.bytes;
        break;
      case 30:
        good = good && parse_dot(field.bytes, instruction.lhs_contracting);
        break;
      case 35:
        instruction.id = static_cast<int64_t>(field.value);
        break;
      case 36:
        append(instruction.operands);
        break;
      case 38:
        append(instruction.called);
        break;
      case 43:
        backend_config = field.bytes;
        break;
      case 49:
        good = good && parse_group(field.bytes, instruction.groups);
        break;
      case 52:
        good = good && parse_pair(field.bytes, instruction.source_target_pairs);
        break;
      case 87:
        good = good && parse_device_list(field.bytes, instruction.groups);
        break;
      case 92:
        good = good && parse_iota_groups(field.bytes, instruction.groups);
        break;
      default:
        break;
    }
  }
  if (instruction.opcode == "while") instruction.trip_count = parse_trip_count(backend_config);
  return good && !reader.failed();
}

bool parse_computation(std::string_view bytes, HloComputation& computation) {
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field)) {
    if (field.number == 1) computation.name = field.bytes;
    if (field.number == 5) computation.id = static_cast<int64_t>(field.value);
    if (field.number == 2 &&
        !parse_instruction(field.bytes, computation.instructions.emplace_back()))
      return false;
  }
  return !reader.failed();
}

bool parse_module(std::string_view bytes, HloModule& module) {
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field)) {
    if (field.number == 1) module.name = field.bytes;
    if (field.number == 6) module.entry = static_cast<int64_t>(field.value);
    if (field.number != 3) continue;
    HloComputation computation;
    if (!parse_computation(field.bytes, computation)) return false;
    const int64_t id = computation.id;
    module.computations.emplace(id, std::move(computation));
  }
  return !reader.failed();
}

const HloInstruction* find(const HloComputation& computation, int64_t id) {
  const auto found = std::find_if(computation.instructions.begin(), computation.instructions.end(),
                                  [&](const HloInstruction& other) { return other.id == id; });
  return found == computation.instructions.end() ? nullptr : &*found;
}

bool is_sound(const HloComputation& computation, const HloInstruction& instruction) {
  if (instruction.opcode != "dot") return true;
  const HloInstruction* lhs =
      instruction.operands.empty() ? nullptr : find(computation, instruction.operands[0]);
  if (lhs == nullptr) return false;
  const auto rank = static_cast<int64_t>(lhs->shape.dims.size());
  return std::all_of(instruction.lhs_contracting.begin(), instruction.lhs_contracting.end(),
                     [&](int64_t dim) { return dim >= 0 && dim < rank; });
}

// That walking from a computation ends, and finds what it looks for.
class SoundnessCheck {
 public:
  explicit SoundnessCheck(const HloModule& module) : module_(module) {}

  bool operator()(int64_t id) {
    const auto found = module_.computations.find(id);
    if (found == module_.computations.end()) return false;
    const auto [state, is_new] = states_.emplace(id, State::kOpen);
    if (!is_new) return state->second == State::kDone;  // an open one calls itself
    for (const HloInstruction& instruction : found->second.instructions) {
      if (!is_sound(found->second, instruction)) return false;
      for (int64_t called : instruction.called)
        if (!(*this)(called)) return false;
    }
    states_[id] = State::kDone;
    return true;
  }

 private:
  enum class State { kOpen, kDone };
  const HloModule& module_;
  std::unordered_map<int64_t, State> states_;
};

}  // namespace

double HloShape::elements() const {
  double product = 1;
  for (int64_t dim : dims) product *= static_cast<double>(dim);
  return product;
}

double HloShape::bytes() const {
  double total = element_bytes > 0 ? elements() * element_bytes : 0;
  for (const HloShape& part : parts) total += part.bytes();
  return total;
}

Result<HloModule> HloModule::parse(std::string_view format, std::string_view code) {
  std::string_view bytes = code;
  if (format == "hlo_with_config") {
    WireReader reader(code);
    WireField field;
    while (reader.next(field)) {
      if (field.number == 1) bytes = field.bytes;
    }
    if (reader.failed()) return data_loss("the compiled program is cut short");
  } else if (format != "hlo") {
    return invalid_argument("the plugin gives its compiled programs as '", format,
                            "'; read are hlo and hlo_with_config");
  }
  HloModule module;
  if (!parse_module(bytes, module) || !SoundnessCheck(module)(module.entry))
    return data_loss("the compiled program is no HLO module, or is cut short");
  return module;
}

bool HloModule::is_reduction(std::string_view opcode) {
  return opcode == "reduce" || opcode == "all-reduce" || opcode == "all-reduce-start" ||
         opcode == "reduce-scatter" || opcode == "reduce-window" || opcode == "scatter" ||
         opcode == "select-and-scatter" || opcode == "sort" || opcode == "map";
}

double HloModule::dot_flops() const {
  double flops = 0;
  walk([&](const HloComputation& computation, const HloInstruction& dot, double times) {
    if (dot.opcode != "dot") return;
    const HloInstruction* lhs = find(computation, dot.operands[0]);
    double contracted = 1;
    for (int64_t dim : dot.lhs_contracting) contracted *= static_cast<double>(lhs->shape.dims[dim]);
    flops += times * 2 * dot.shape.elements() * contracted;
  });
  return flops;
}

}  // namespace tessera::pjrt
