#include "plugins/cpu/collectives/communicator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plugins/cpu/collectives/all_reduce.h"
#include "plugins/cpu/collectives/scratch.h"

namespace tessera::pjrt_cpu {
namespace {

const std::byte* at(const void* data, size_t offset) {
  return static_cast<const std::byte*>(data) + offset;
}
std::byte* at(void* data, size_t offset) { return static_cast<std::byte*>(data) + offset; }

void copy(void* to, const void* from, size_t bytes) {
  if (to != from && bytes > 0) std::memmove(to, from, bytes);
}

}  // namespace

Communicator::Communicator(const CommunicatorOptions& options, std::vector<int> processes)
    : options_(options), processes_(std::move(processes)) {
  peers_ = processes_;
  std::sort(peers_.begin(), peers_.end());
  peers_.erase(std::unique(peers_.begin(), peers_.end()), peers_.end());
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto peer = std::lower_bound(peers_.begin(), peers_.end(), processes_[rank]);
    peer_of_rank_.push_back(static_cast<int>(peer - peers_.begin()));
    local_index_.push_back(static_cast<int>(own_ranks_.size()));
    if (is_own(rank)) own_ranks_.push_back(rank);
  }
  own_peer_ = static_cast<int>(std::lower_bound(peers_.begin(), peers_.end(), options_.process) -
                               peers_.begin());
}

std::shared_ptr<Meeting> Communicator::meet(uint64_t tag) {
  std::lock_guard lock(mutex_);
  if (failure_) throw *failure_;
  Expected& expected = meetings_[tag];
  if (expected.meeting == nullptr)
    expected.meeting = std::make_shared<Meeting>(static_cast<int>(own_ranks_.size()));
  const std::shared_ptr<Meeting> meeting = expected.meeting;
  if (++expected.came == own_ranks_.size()) meetings_.erase(tag);
  return meeting;
}

Mesh& Communicator::mesh(Deadline deadline) {
  std::lock_guard connect_lock(connect_mutex_);
  {
    std::lock_guard lock(mutex_);
    if (failure_) throw *failure_;
    if (mesh_ == nullptr) {
      std::vector<std::string> names;
      for (const int process : peers_) names.push_back("process " + std::to_string(process));
      mesh_ =
          std::make_shared<Mesh>(*options_.network, own_peer_, std::move(names), options_.broken);
    }
  }
  if (!connected_) {
    const auto store = prefixed(options_.store, options_.name + "/");
    mesh_->connect(*store, deadline, options_.check_wanted);
    connected_ = true;
  }
  return *mesh_;
}

void Communicator::abort(const std::string& reason) {
  const Failure failure(Failure::kUnavailable, reason);
  std::shared_ptr<Mesh> mesh;
  std::map<uint64_t, Expected> meetings;
  {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
    mesh = mesh_;
    meetings.swap(meetings_);
  }
  if (mesh != nullptr) mesh->abort(reason);
  for (const auto& [tag, expected] : meetings) expected.meeting->fail(failure);
}

// An empty reduction says whether the operation exists, before anyone waits for anyone.
void Communicator::check_reduction(Element element, Reduction reduction) const {
  uint64_t none[2] = {};
  const void* inputs[] = {none};
  reduce(element, reduction, inputs, none, 0);
}

/// Arrives, and the last one exchanges with the other processes.
void Communicator::arrive(Meeting& meeting, const Operation& operation, Share share,
                          const std::function<void(Transfers&)>& exchange) {
  const int index = local_index(share.rank);
  meeting.arrive(index, std::move(share), operation.deadline, [&] {
    if (peers_.size() == 1) return;
    NoSigpipe guard;
    Transfers transfers(mesh(operation.deadline), operation.tag, operation.deadline);
    exchange(transfers);
    transfers.wait();
    ++options_.network->traffic().operations;
  });
}

// ---- reductions: each device of the process reduces a part of all devices' arrays

void Communicator::all_reduce(const Operation& operation, int rank, const void* in, void* out,
                              Element element, size_t count, Reduction reduction) {
  check_reduction(element, reduction);
  const size_t size = bytes_of(element), locals = own_ranks_.size();
  const auto exchange = [&](const void* from, void* to) {
    if (peers_.size() == 1) return copy(to, from, count * size);
    NoSigpipe guard;
    pjrt_cpu::all_reduce(mesh(operation.deadline), *options_.pool, operation.tag,
                         operation.deadline, {element, reduction, from, to, count},
                         options_.chunk_bytes);
    ++options_.network->traffic().operations;
  };
  const auto meeting = meet(operation.tag);
  if (locals == 1) {
    return meeting->arrive(0, {.rank = rank}, operation.deadline, [&] { exchange(in, out); });
  }
  meeting->arrive(local_index(rank), {.rank = rank, .in = in, .out = out}, operation.deadline, [&] {
    meeting->set_scratch(std::make_unique<Scratch>(*options_.pool, count * size));
  });
  std::vector<const void*> inputs;
  const size_t start = count * local_index(rank) / locals;
  const size_t end = count * (local_index(rank) + 1) / locals;
  for (const Share& share : meeting->shares()) inputs.push_back(at(share.in, start * size));
  std::byte* sums = meeting->scratch().data();
  reduce(element, reduction, inputs, sums + start * size, end - start);
  meeting->step([&] { exchange(sums, sums); });
  copy(out, sums, count * size);
}

void Communicator::scatter_sums(const Operation& operation, const Meeting& meeting,
                                const void* sums, Element element, size_t count,
                                Reduction reduction) {
  const size_t bytes = count * bytes_of(element);
  if (peers_.size() == 1) {
    for (const Share& share : meeting.shares())
      copy(share.out, at(sums, share.rank * bytes), bytes);
    return;
  }
  NoSigpipe guard;
  const Scratch received(*options_.pool, bytes * own_ranks_.size() * peers_.size());
  const auto slot = [&](size_t peer, size_t local) {
    return received.data() + (peer * own_ranks_.size() + local) * bytes;
  };
  Transfers transfers(mesh(operation.deadline), operation.tag, operation.deadline);
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    if (static_cast<int>(peer) == own_peer_) continue;
    for (size_t local = 0; local < own_ranks_.size(); ++local)
      transfers.receive(static_cast<int>(peer), slot(peer, local), bytes);
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    if (!is_own(rank)) transfers.send(peer_of(rank), at(sums, rank * bytes), bytes);
  }
  transfers.wait();
  ++options_.network->traffic().operations;
  for (const Share& share : meeting.shares()) {
    std::vector<const void*> inputs;
    for (size_t peer = 0; peer < peers_.size(); ++peer) {
      inputs.push_back(static_cast<int>(peer) == own_peer_ ? at(sums, share.rank * bytes)
                                                           : slot(peer, local_index(share.rank)));
    }
    reduce(element, reduction, inputs, share.out, count);
  }
}

void Communicator::reduce_scatter(const Operation& operation, int rank, const void* in, void* out,
                                  Element element, size_t count, Reduction reduction) {
  check_reduction(element, reduction);
  const size_t size = bytes_of(element), locals = own_ranks_.size(), all = count * ranks();
  const auto meeting = meet(operation.tag);
  if (locals == 1) {
    return meeting->arrive(0, {.rank = rank, .in = in, .out = out}, operation.deadline, [&] {
      scatter_sums(operation, *meeting, in, element, count, reduction);
    });
  }
  meeting->arrive(local_index(rank), {.rank = rank, .in = in, .out = out}, operation.deadline, [&] {
    meeting->set_scratch(std::make_unique<Scratch>(*options_.pool, all * size));
  });
  std::vector<const void*> inputs;
  const size_t start = all * local_index(rank) / locals;
  const size_t end = all * (local_index(rank) + 1) / locals;
  for (const Share& share : meeting->shares()) inputs.push_back(at(share.in, start * size));
  std::byte* sums = meeting->scratch().data();
  reduce(element, reduction, inputs, sums + start * size, end - start);
  meeting->step([&] { scatter_sums(operation, *meeting, sums, element, count, reduction); });
}

// ---- movements: what comes from other processes is put into the last device's output, or where
// it belongs; then each device copies what the others of its process have

void Communicator::all_gather(const Operation& operation, int rank, const void* in, void* out,
                              size_t bytes) {
  const auto meeting = meet(operation.tag);
  // Received once, into the first device's output.
  arrive(*meeting, operation, {.rank = rank, .in = in, .out = out}, [&](Transfers& transfers) {
    const Share& first = meeting->shares()[0];
    for (int other = 0; other < ranks(); ++other) {
      if (!is_own(other)) transfers.receive(peer_of(other), at(first.out, other * bytes), bytes);
    }
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      if (peer == own_peer_) continue;
      for (const Share& share : meeting->shares()) transfers.send(peer, share.in, bytes);
    }
  });
  const Share& first = meeting->shares()[0];
  for (int other = 0; other < ranks(); ++other) {
    const void* from = is_own(other) ? meeting->shares()[local_index(other)].in
                                     : at(static_cast<const void*>(first.out), other * bytes);
    copy(at(out, other * bytes), from, bytes);
  }
  meeting->step({});
}

void Communicator::all_to_all(const Operation& operation, int rank,
                              const std::vector<const void*>& ins, const std::vector<void*>& outs,
                              size_t bytes) {
  const auto meeting = meet(operation.tag);
  arrive(*meeting, operation, {.rank = rank, .ins = ins, .outs = outs}, [&](Transfers& transfers) {
    // Between two processes the blocks go in the order of sender and receiver.
    for (int sender = 0; sender < ranks(); ++sender) {
      if (is_own(sender)) continue;
      for (const Share& share : meeting->shares())
        transfers.receive(peer_of(sender), share.outs[sender], bytes);
    }
    for (const Share& share : meeting->shares()) {
      for (int receiver = 0; receiver < ranks(); ++receiver) {
        if (!is_own(receiver)) transfers.send(peer_of(receiver), share.ins[receiver], bytes);
      }
    }
  });
  for (const Share& share : meeting->shares()) copy(outs[share.rank], share.ins[rank], bytes);
  meeting->step({});
}

void Communicator::permute(const Operation& operation, int rank, const void* in, void* out,
                           size_t bytes, std::optional<int> source,
                           const std::vector<int>& targets) {
  const auto meeting = meet(operation.tag);
  Share own = {.rank = rank, .in = in, .out = out, .source = source, .targets = targets};
  arrive(*meeting, operation, std::move(own), [&](Transfers& transfers) {
    // Between two processes in the order of the receiving ranks, which both sides know.
    std::vector<std::pair<int, const Share*>> sends;
    for (const Share& share : meeting->shares()) {
      if (share.source && !is_own(*share.source))
        transfers.receive(peer_of(*share.source), share.out, bytes);
      for (const int target : share.targets) {
        if (!is_own(target)) sends.push_back({target, &share});
      }
    }
    std::sort(sends.begin(), sends.end());
    for (const auto& [target, share] : sends) transfers.send(peer_of(target), share->in, bytes);
  });
  if (!source) {
    if (bytes > 0) std::memset(out, 0, bytes);
  } else if (is_own(*source)) {
    copy(out, meeting->shares()[local_index(*source)].in, bytes);
  }
  meeting->step({});
}

void Communicator::broadcast(const Operation& operation, int rank, const void* in, void* out,
                             size_t bytes, int root) {
  const auto meeting = meet(operation.tag);
  arrive(*meeting, operation, {.rank = rank, .in = in, .out = out}, [&](Transfers& transfers) {
    if (!is_own(root)) return transfers.receive(peer_of(root), meeting->shares()[0].out, bytes);
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      if (peer != own_peer_) transfers.send(peer, meeting->shares()[local_index(root)].in, bytes);
    }
  });
  copy(out, is_own(root) ? meeting->shares()[local_index(root)].in : meeting->shares()[0].out,
       bytes);
  meeting->step({});
}

}  // namespace tessera::pjrt_cpu
