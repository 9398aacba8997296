#include "tessera/runtime/agreement.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/base/hash.h"
#include "tessera/base/strings.h"

namespace tessera {

Status require_same_value(const HostArray& value, std::string_view what,
                          const GatherTexts& gather) {
  const std::string own = str_cat(to_string(value.shape()), " of hash ",
                                  absl::StrFormat("%016x", hash_bytes(value.bytes())));
  ASSIGN_OR_RETURN(const auto all, gather(own));
  std::map<std::string, std::vector<int64_t>> holders;
  for (const auto& [process, text] : all) holders[text].push_back(process);
  if (holders.size() <= 1) return absl::OkStatus();
  std::vector<std::string> groups;
  for (const auto& [text, processes] : holders) {
    groups.push_back(str_cat(processes.size() == 1 ? "process " : "processes ",
                             absl::StrJoin(processes, ", "), ": ", text));
  }
  return invalid_argument(what, " is not the same on each process (", absl::StrJoin(groups, "; "),
                          "); all must put equal values");
}

}  // namespace tessera
