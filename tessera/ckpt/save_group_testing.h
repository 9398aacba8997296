#pragma once

#include <barrier>
#include <string>
#include <utility>
#include <vector>

#include "tessera/ckpt/saver.h"

/// For tests only: processes that save together, played by threads that meet in memory.
namespace tessera {

class Room {
 public:
  explicit Room(int processes) : texts_(processes), meeting_(processes) {}
  std::vector<std::string> meet(int process, const std::string& text) {
    texts_[process] = text;
    meeting_.arrive_and_wait();
    std::vector<std::string> all = texts_;
    meeting_.arrive_and_wait();  // nobody writes the next text before all have read this one
    return all;
  }
  int processes() const { return static_cast<int>(texts_.size()); }

 private:
  std::vector<std::string> texts_;
  std::barrier<> meeting_;
};

class RoomGroup : public SaveGroup {
 public:
  RoomGroup(Room& room, int process) : room_(room), process_(process) {}
  int process() const override { return process_; }
  int processes() const override { return room_.processes(); }
  Status agree(const std::string& what, const Status& own) override {
    for (const std::string& error : room_.meet(process_, std::string(own.message()))) {
      if (!error.empty()) return data_loss(what, ": ", error);
    }
    return absl::OkStatus();
  }
  Result<std::vector<std::string>> gather(const std::string& text) override {
    std::vector<std::string> all = room_.meet(process_, text);
    if (!leads()) all.clear();
    return all;
  }
  Result<std::vector<std::string>> gather_everywhere(const std::string& text) override {
    return room_.meet(process_, text);
  }

 private:
  Room& room_;
  const int process_;
};

/// The request of one of several processes that hold every so many-th shard.
inline SaveRequest share_of(SaveRequest request, int process, int processes) {
  std::vector<HostShard> own;
  for (size_t i = process; i < request.shards.size(); i += processes)
    own.push_back(request.shards[i]);
  request.shards = std::move(own);
  return request;
}

}  // namespace tessera
