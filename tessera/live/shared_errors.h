#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/base/thread.h"
#include "tessera/coord/client.h"

namespace tessera {

/// Errors of one process that the others of a block have to hear of. Blocks have the numbers of the
/// live sets that began them. To be used by one thread.
class SharedErrors {
 public:
  /// `on_error` is called from a thread of this object's, once a block, when another process has
  /// told of an error while this one still works; not after end(). `client` outlives this.
  SharedErrors(coord::Client& client, std::function<void()> on_error);
  ~SharedErrors();

  /// From now on this process works on block `round`.
  void begin(uint64_t round);
  /// It has ended with `result`: tells the others, unless that is OK.
  Status end(const Status& result);
  /// What block `round` ended with, the same on all; to be asked when all have ended it and before
  /// they end the next. OK, or the error of one of them, with its process before it: rather one
  /// that does not follow from another's.
  Status result(uint64_t round);
  /// All have ended the newest block: what this process told of earlier ones is needed no longer.
  void forget_older();

 private:
  void listen();

  coord::Client& client_;
  const std::function<void()> on_error_;
  std::vector<std::string> keys_, older_keys_;  // that this process has written

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t round_ = 0;  // guarded by mutex_; 0: in no block
  uint64_t heard_ = 0;  // guarded by mutex_: the newest block of which nothing more is to be heard
  bool stopped_ = false;  // guarded by mutex_
  Thread thread_;
};

/// "8 the message", and back. What is no such text is an INTERNAL error.
std::string error_to_text(const Status& error);
Status error_from_text(const std::string& text);

}  // namespace tessera
