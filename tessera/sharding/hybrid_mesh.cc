#include "tessera/sharding/hybrid_mesh.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_join.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

/// One tier of the degrees: which member it is, and its words in messages.
struct Tier {
  int64_t AxisDegrees::*degree;
  std::string AxisDegrees::*key;
  const char* name;
  int64_t size;        // what the product must be
  std::string target;  // "a slice has 8 devices"
};

Tier ici_tier(int64_t size, std::string target) {
  return {&AxisDegrees::ici, &AxisDegrees::ici_key, "inside a slice (ici)", size,
          std::move(target)};
}

Tier dcn_tier(int64_t size, std::string target) {
  return {&AxisDegrees::dcn, &AxisDegrees::dcn_key, "across slices (dcn)", size, std::move(target)};
}

std::string counted(int64_t count, const char* what) {
  return str_cat(count == 1 ? "there is " : "there are ", count, " ", what, count == 1 ? "" : "s");
}

std::string setting(const AxisDegrees& axis, const Tier& tier, int64_t value) {
  return str_cat(axis.*tier.key, "=", value);
}

using Changes = std::map<const AxisDegrees*, int64_t>;

// What a user would write to change these degrees.
std::string settings(std::span<const AxisDegrees> axes, const Tier& tier, const Changes& changes) {
  std::vector<std::string> words;
  for (const AxisDegrees& axis : axes) {
    const auto change = changes.find(&axis);
    const int64_t degree = change == changes.end() ? axis.*tier.degree : change->second;
    if (axis.is_listed) {
      words.push_back(str_cat(degree));
    } else if (change != changes.end()) {
      words.push_back(setting(axis, tier, degree));
    }
  }
  if (!axes[0].is_listed) return absl::StrJoin(words, " ");
  const std::string& key = axes[0].*tier.key;
  return str_cat(key.substr(0, key.find(" of ")), "=[", absl::StrJoin(words, ", "), "]");
}

int64_t product_of(std::span<const AxisDegrees> axes, const Tier& tier) {
  int64_t product = 1;
  for (const AxisDegrees& axis : axes) {
    const int64_t degree = axis.*tier.degree;
    if (degree > 0 && __builtin_mul_overflow(product, degree, &product)) return INT64_MAX;
  }
  return product;
}

// "ici_data_parallelism=2 x ici_fsdp_parallelism=3 makes 6"
std::string product_text(std::span<const AxisDegrees> axes, const Tier& tier) {
  std::vector<std::string> factors;
  for (const AxisDegrees& axis : axes) {
    if (axis.*tier.degree > 1) factors.push_back(setting(axis, tier, axis.*tier.degree));
  }
  if (factors.empty()) return "the degrees are all 1";
  const int64_t product = product_of(axes, tier);
  return str_cat(absl::StrJoin(factors, " x "), " makes ",
                 product == INT64_MAX ? "more than there are integers" : str_cat(product));
}

// One change that makes the product fit: another degree for the axis that matters most, else all
// into one axis.
std::string proposal(std::span<const AxisDegrees> axes, const Tier& tier) {
  const int64_t product = product_of(axes, tier);
  const AxisDegrees* best = nullptr;
  for (const AxisDegrees& axis : axes) {
    const int64_t degree = axis.*tier.degree;
    if (degree < 1 || product == INT64_MAX || axis.is_fixed) continue;
    const int64_t others = product / degree;
    if (tier.size % others != 0) continue;
    if (!best || degree > best->*tier.degree) best = &axis;
  }
  if (best) {
    return settings(axes, tier, {{best, tier.size / (product / (best->*tier.degree))}});
  }
  Changes changes;
  int64_t left = tier.size;
  for (const AxisDegrees& axis : axes) {
    if (axis.*tier.degree != 1) changes[&axis] = std::exchange(left, 1);
  }
  return settings(axes, tier, changes);
}

// The largest divisor of the tier's size that a degree of `wanted` could become.
int64_t nearest_divisor(int64_t size, int64_t wanted) {
  for (int64_t divisor = std::min(wanted, size); divisor > 1; --divisor) {
    if (size % divisor == 0) return divisor;
  }
  return 1;
}

Status check_tier(std::span<const AxisDegrees> axes, const Tier& tier) {
  std::vector<std::string> fills;
  const AxisDegrees* last = nullptr;
  for (const AxisDegrees& axis : axes) {
    const int64_t degree = axis.*tier.degree;
    if (degree == -1) {
      fills.push_back(axis.*tier.key);
      last = &axis;
    }
    if (degree < 1 && degree != -1) {
      return invalid_argument("mesh, ", tier.name, ": ", setting(axis, tier, degree),
                              ": a degree is at least 1, or -1 for what the others leave");
    }
  }
  if (fills.size() <= 1) return absl::OkStatus();
  return invalid_argument("mesh, ", tier.name, ": ", absl::StrJoin(fills, " and "),
                          " are -1, which takes what the others leave, so only one axis of a tier "
                          "may be: set, for example, ",
                          settings(axes, tier, {{last, 1}}));
}

Status resolve_tier(std::vector<AxisDegrees>& axes, const Tier& tier) {
  const int64_t product = product_of(axes, tier);
  const auto fill = std::find_if(axes.begin(), axes.end(),
                                 [&](const AxisDegrees& axis) { return axis.*tier.degree == -1; });
  if (fill == axes.end()) {
    if (product == tier.size) return absl::OkStatus();
    return invalid_argument("mesh, ", tier.name, ": ", product_text(axes, tier), ", and ",
                            tier.target, ": use a product of ", tier.size, ", such as ",
                            proposal(axes, tier));
  }
  if (tier.size % product == 0) {
    (*fill).*tier.degree = tier.size / product;
    return absl::OkStatus();
  }
  const AxisDegrees& largest = *std::max_element(
      axes.begin(), axes.end(),
      [&](const AxisDegrees& a, const AxisDegrees& b) { return a.*tier.degree < b.*tier.degree; });
  const int64_t others = product / (largest.*tier.degree);
  const int64_t room = tier.size % others == 0 ? tier.size / others : 1;
  return invalid_argument(
      "mesh, ", tier.name, ": ", product_text(axes, tier), ", and ", tier.target,
      ", which leaves no whole number for ", setting(*fill, tier, -1), ": use a divisor of ",
      tier.size, ", such as ",
      settings(axes, tier, {{&largest, nearest_divisor(room, largest.*tier.degree)}}));
}

Status check_one_slice(std::span<const AxisDegrees> axes) {
  for (const AxisDegrees& axis : axes) {
    if (axis.dcn == 1 || axis.dcn == -1) continue;
    return invalid_argument("mesh, across slices (dcn): ", axis.dcn_key, "=", axis.dcn,
                            ", but there is one slice: use ",
                            settings(axes, dcn_tier(1, ""), {{&axis, 1}}),
                            " (or -1), or say num_slices=", std::max<int64_t>(axis.dcn, 2),
                            " where the devices are that many");
  }
  return absl::OkStatus();
}

int64_t place(std::span<const int64_t> coordinates, std::span<const int64_t> sizes) {
  int64_t index = 0;
  for (size_t i = 0; i < sizes.size(); ++i) index = index * sizes[i] + coordinates[i];
  return index;
}

}  // namespace

Result<Slices> even_slices(std::span<const int64_t> device_ids, int64_t count) {
  const auto devices = static_cast<int64_t>(device_ids.size());
  if (count < 1 || devices % count != 0) {
    std::vector<int64_t> fitting;
    for (int64_t slices = 1; slices <= devices; ++slices) {
      if (devices % slices == 0) fitting.push_back(slices);
    }
    return invalid_argument("mesh: ", devices, devices == 1 ? " device" : " devices",
                            " cannot be cut into num_slices=", count,
                            " slices of one size: use one of ", absl::StrJoin(fitting, ", "));
  }
  const int64_t size = devices / count;
  Slices slices;
  for (int64_t i = 0; i < count; ++i)
    slices.emplace_back(device_ids.begin() + i * size, device_ids.begin() + (i + 1) * size);
  return slices;
}

Status check_degrees(std::span<const AxisDegrees> axes) {
  RETURN_IF_ERROR(check_tier(axes, ici_tier(0, "")));
  return check_tier(axes, dcn_tier(0, ""));
}

Result<std::vector<AxisDegrees>> resolve_degrees(std::vector<AxisDegrees> axes,
                                                 int64_t devices_per_slice, int64_t slices) {
  const Tier ici = ici_tier(devices_per_slice,
                            slices == 1 ? counted(devices_per_slice, "device")
                                        : str_cat("a slice has ", devices_per_slice, " devices"));
  const Tier dcn = dcn_tier(slices, counted(slices, "slice"));
  RETURN_IF_ERROR(check_degrees(axes));
  RETURN_IF_ERROR(resolve_tier(axes, ici));
  if (slices == 1) RETURN_IF_ERROR(check_one_slice(axes));
  RETURN_IF_ERROR(resolve_tier(axes, dcn));
  return axes;
}

Result<Mesh> hybrid_mesh(std::span<const AxisDegrees> axes, const Slices& slices) {
  std::vector<MeshAxis> sizes;
  std::vector<int64_t> ici_sizes, dcn_sizes;
  int64_t positions = 1;
  for (const AxisDegrees& axis : axes) {
    CHECK_MSG(axis.ici >= 1 && axis.dcn >= 1, "degrees are resolved");
    sizes.push_back({axis.name, axis.ici * axis.dcn});
    ici_sizes.push_back(axis.ici);
    dcn_sizes.push_back(axis.dcn);
    positions *= axis.ici * axis.dcn;
  }
  std::vector<int64_t> ids;
  std::vector<int64_t> ici(axes.size()), dcn(axes.size());
  for (int64_t position = 0; position < positions; ++position) {
    int64_t rest = position;
    for (size_t i = axes.size(); i-- > 0;) {
      const int64_t coordinate = rest % sizes[i].size;
      rest /= sizes[i].size;
      ici[i] = coordinate % ici_sizes[i];
      dcn[i] = coordinate / ici_sizes[i];
    }
    ids.push_back(slices[place(dcn, dcn_sizes)][place(ici, ici_sizes)]);
  }
  return Mesh::create(std::move(sizes), std::move(ids));
}

}  // namespace tessera
