#include "tessera/runtime/replica_check.h"

#include <algorithm>
#include <map>
#include <span>
#include <sstream>

#include "absl/strings/str_join.h"
#include "tessera/base/hash.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

constexpr size_t kMostNamed = 10;

// One line a part: the array's number in the tree, the device's position, the hash.
Result<std::string> hashes_of_own_parts(const Tree<Array>& arrays) {
  std::string text;
  size_t number = 0;
  for (const auto& [path, array] : arrays) {
    if (array.sharding().num_replicas() > 1) {
      const auto shards = array.addressable_shards();
      RETURN_IF_ERROR(annotate(shards.status(), str_cat("'", path, "'")));
      for (const Array::Shard& shard : *shards) {
        const auto value = shard.buffer->to_host();
        RETURN_IF_ERROR(annotate(value.status(), str_cat("'", path, "'")));
        str_append(&text, number, " ", shard.position, " ", hash_bytes(value->bytes()), "\n");
      }
    }
    ++number;
  }
  return text;
}

// What the arrays are, which must be the same everywhere.
std::string names_of(const Tree<Array>& arrays) {
  std::string text;
  for (const auto& [path, array] : arrays) {
    str_append(&text, path, " ", describe(array.shape(), array.sharding()), " ",
               to_string(array.sharding().mesh()), "\n");
  }
  return str_cat(hash_bytes(std::as_bytes(std::span(text))));
}

// "names NUMBER" and the lines of the parts, or "error" and why there are none.
std::string message_of(const Tree<Array>& arrays, const Result<std::string>& hashes) {
  if (!hashes.ok()) return str_cat("error ", from_absl(hashes.status().message()));
  return str_cat("names ", names_of(arrays), "\n", *hashes);
}

struct Part {
  size_t number;
  Box box;
  auto operator<=>(const Part&) const = default;
};
using DevicesByHash = std::map<uint64_t, std::vector<int64_t>>;

Status add(const std::vector<const Array*>& arrays, const std::string& own_names, int64_t process,
           const std::string& text, std::map<Part, DevicesByHash>& parts) {
  std::istringstream lines(text);
  std::string kind, names;
  lines >> kind >> names;
  if (kind == "error") {
    return failed_precondition("replicas cannot be checked: process ", process, ": ",
                               text.substr(kind.size() + 1));
  }
  if (names != own_names) {
    return invalid_argument("replicas cannot be checked: process ", process,
                            " compares other arrays than this one");
  }
  size_t number = 0;
  int64_t position = 0;
  uint64_t hash = 0;
  while (lines >> number >> position >> hash) {
    if (number >= arrays.size() || position < 0 ||
        position >= arrays[number]->sharding().mesh().size()) {
      return internal_error("replicas cannot be checked: process ", process,
                            " sent no list of hashes");
    }
    const NamedSharding& sharding = arrays[number]->sharding();
    const Box box = sharding.shard_box(arrays[number]->shape().dims, position);
    parts[{number, box}][hash].push_back(sharding.mesh().device_ids()[position]);
  }
  return absl::OkStatus();
}

std::string devices(const std::vector<int64_t>& ids) {
  return str_cat(ids.size() == 1 ? "device " : "devices ", absl::StrJoin(ids, ", "));
}

}  // namespace

std::string to_string(const ReplicaDifference& difference) {
  std::string text = str_cat("'", difference.path, "' ", to_string(difference.box), ": ");
  for (size_t i = 1; i < difference.device_ids.size(); ++i) {
    const auto& ids = difference.device_ids[i];
    str_append(&text, i > 1 ? ", " : "", devices(ids),
               ids.size() == 1 ? " holds another value" : " hold another value");
  }
  return str_cat(text, " than ", devices(difference.device_ids[0]));
}

Result<std::vector<ReplicaDifference>> compare_replicas(const Tree<Array>& arrays,
                                                        const GatherTexts& gather) {
  // An error as well, so that the others need not wait for what will not come.
  const Result<std::string> own = hashes_of_own_parts(arrays);
  const auto gathered = gather(message_of(arrays, own));
  RETURN_IF_ERROR(own.status());
  RETURN_IF_ERROR(gathered.status());
  const auto& all = *gathered;
  std::vector<std::string> paths;
  std::vector<const Array*> list;
  for (const auto& [path, array] : arrays) {
    paths.push_back(path);
    list.push_back(&array);
  }
  const std::string own_names = names_of(arrays);
  std::map<Part, DevicesByHash> parts;
  for (const auto& [process, text] : all)
    RETURN_IF_ERROR(add(list, own_names, process, text, parts));
  std::vector<ReplicaDifference> differences;
  for (auto& [part, by_hash] : parts) {
    if (by_hash.size() == 1) continue;
    ReplicaDifference difference{paths[part.number], part.box, {}};
    for (auto& [hash, ids] : by_hash) difference.device_ids.push_back(std::move(ids));
    // Among groups of one size the one with the lowest device stands first, the same everywhere.
    std::ranges::sort(difference.device_ids, [](const auto& a, const auto& b) {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    differences.push_back(std::move(difference));
  }
  return differences;
}

Status check_replicas(const Tree<Array>& arrays, const GatherTexts& gather) {
  ASSIGN_OR_RETURN(const auto differences, compare_replicas(arrays, gather));
  if (differences.empty()) return absl::OkStatus();
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(differences.size(), kMostNamed); ++i)
    texts.push_back(to_string(differences[i]));
  if (differences.size() > kMostNamed)
    texts.push_back(str_cat("and ", differences.size() - kMostNamed, " more parts"));
  return data_loss("replicas differ: ", absl::StrJoin(texts, "; "));
}

}  // namespace tessera
