#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/status.h"
#include "tessera/base/tree.h"
#include "tessera/coord/client.h"
#include "tessera/ir/host_array.h"

namespace tessera::coord {

struct ExchangeOptions {
  std::string name = "exchange";                ///< two exchanges of one cluster need two names
  absl::Duration timeout = absl::Seconds(300);  ///< of a call, from when the first process came
  std::vector<int> processes;                   ///< that take part; none: all
};

/// Values on the host that processes hand to each other through the coordinator: for what is small
/// and seldom, such as settings, seeds and results of a validation. It needs no devices, compiles
/// nothing, and works for any number of devices a process.
///
/// Every process that takes part makes one and makes the same calls in the same order, from one
/// thread at a time. Where they do not, all get an error that says who called what. A process that
/// does not come is named after the timeout. Values of any dtype come through bit by bit; together
/// those of a call may take as much memory as the coordinator has, 16 MiB a message.
class Exchange {
 public:
  using Arrays = Tree<HostArray>;

  /// `client` outlives this.
  explicit Exchange(Client& client, ExchangeOptions options = {});

  /// Returns when all processes are here. The name is part of the call: another one elsewhere is
  /// an error on all.
  Status sync(const std::string& name);

  /// The source's values, on all. Paths, shapes and dtypes must be the same everywhere.
  Result<Arrays> broadcast(const Arrays& values, int source = 0);
  Result<HostArray> broadcast(const HostArray& value, int source = 0);

  /// Every process's value, by process. Shapes may differ. `what` says what the values are, and is
  /// part of the call.
  Result<std::vector<Arrays>> gather(const Arrays& values, const std::string& what = "values");
  /// The same on one process; the others get an empty list and read nothing.
  Result<std::vector<Arrays>> gather_to(const Arrays& values, int destination,
                                        const std::string& what = "values");
  /// Every process's text, by process.
  Result<std::map<int64_t, std::string>> gather_texts(const std::string& text,
                                                      const std::string& what = "texts");
  /// Every process's value along a new first dimension; shapes must be the same.
  Result<Arrays> stack(const Arrays& values);
  /// Joined along the first dimension, where they may differ in size; scalars are stacked.
  Result<Arrays> concatenate(const Arrays& values);

  /// OK when all processes hold the same, bit by bit. Otherwise an error on all: which value
  /// differs, and where. `what` says for the message what the values are.
  Status require_equal(const Arrays& values, const std::string& what);

 private:
  struct Header;

  /// Publishes what this process does, waits for the others, and compares: an error on all when
  /// they do different things. Headers of all, in the order of participants().
  Result<std::vector<Header>> meet(const Header& own);
  Header header(std::string call, const Arrays& values) const;
  std::string key(int64_t round, int process) const;
  Status put_values(const Arrays& values);
  Result<Arrays> get_values(const Header& header);
  Result<std::vector<Arrays>> get_all_values(const std::vector<Header>& headers);
  Status require_same_layout(const std::vector<Header>& headers) const;

  Client& client_;
  const ExchangeOptions options_;
  std::vector<int> participants_;
  int64_t round_ = 0;
};

}  // namespace tessera::coord
