#include "tests/coord/schedule_world.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <random>

#include "absl/strings/numbers.h"
#include "tessera/base/strings.h"
#include "tessera/coord/state.h"
#include "tessera/coord/state_testing.h"

namespace tessera::coord {
namespace {

constexpr Micros kMs = 1000;
constexpr Micros kHeartbeatTimeout = 2000 * kMs;
constexpr Micros kHeartbeat = 300 * kMs;
constexpr Micros kTroubleEnds = 8000 * kMs;  // from then on the network is sound and nobody dies
constexpr Micros kEnd = 13000 * kMs;

class World {
 public:
  World(uint64_t seed, Bug bug) : random_(seed), bug_(bug) {
    processes_ = 2 + pick(3);
    history_.recoverable = chance(0.85);
    partitions_.resize(processes_, 0);
  }

  History run() {
    start_coordinator();
    for (int process = 0; process < processes_; ++process) {
      at(pick(200) * kMs, [this, process] { start(process); });
    }
    for (int i = 0; i < 12; ++i)
      at((200 + pick(kTroubleEnds / kMs - 200)) * kMs, [this] { trouble(); });
    while (!events_.empty() && events_.top().when <= kEnd) {
      const auto body = *events_.top().body;
      now_ = events_.top().when;
      events_.pop();
      body();
    }
    finish();
    return std::move(history_);
  }

 private:
  struct Event {
    Micros when;
    uint64_t order;
    std::shared_ptr<std::function<void()>> body;
    bool operator<(const Event& other) const {
      return std::tie(when, order) > std::tie(other.when, other.order);
    }
  };
  struct Instance {
    Who who;
    size_t record = 0;  // in history_.instances
    bool running = true;
    Micros paused_until = 0;
    bool registered = false;
    uint64_t service = 0;
    uint64_t sequence = 0;
    uint64_t barriers = 0;
    int64_t written = 0;
    wire::Request open;       // the call under way
    size_t open_call = 0;     // in history_.calls
    uint64_t open_round = 0;  // counts calls, for timers
  };

  int64_t pick(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  bool chance(double p) { return static_cast<double>(random_() >> 11) * 0x1p-53 < p; }
  bool calm() const { return now_ >= kTroubleEnds; }
  void at(Micros when, std::function<void()> body) {
    events_.push({when, order_++, std::make_shared<std::function<void()>>(std::move(body))});
  }
  void after(Micros delay, std::function<void()> body) { at(now_ + delay, std::move(body)); }

  // Instances.

  void start(int process) {
    auto instance = std::make_unique<Instance>();
    instance->who = {process, 1 + random_() % 1'000'000'000'000};
    instance->record = history_.instances.size();
    history_.instances.push_back({.who = instance->who});
    Instance& started = *instance;
    instances_.push_back(std::move(instance));
    wire::Request request;
    request.mutable_register_()->set_processes(processes_);
    begin(started, std::move(request), false);
    beat(started);
  }

  void beat(Instance& instance) {
    if (!instance.running) return;
    if (instance.registered && now_ >= instance.paused_until) {
      wire::Request request = heartbeat_request();
      address(instance, request);
      transmit(instance, request, 0);
    }
    after(kHeartbeat, [this, &instance] { beat(instance); });
  }

  void address(const Instance& instance, wire::Request& request) {
    wire::Caller& caller = *request.mutable_caller();
    caller.set_process(instance.who.first);
    caller.set_incarnation(instance.who.second);
    caller.set_service(instance.service);
    caller.set_sequence(instance.sequence);
    caller.set_oldest_open(instance.sequence);
  }

  void begin(Instance& instance, wire::Request request, bool recorded) {
    ++instance.sequence;
    address(instance, request);
    instance.open = std::move(request);
    instance.open_call = recorded ? history_.calls.size() - 1 : SIZE_MAX;
    if (recorded) {
      CallRecord& call = history_.calls.back();
      call.who = instance.who;
      call.sequence = instance.sequence;
      call.first_sent = now_;
    }
    send_open(instance, ++instance.open_round);
  }

  // Sends the open call, again and again until there is a reply.
  void send_open(Instance& instance, uint64_t round) {
    if (!instance.running || instance.open_round != round) return;
    if (now_ < instance.paused_until) {
      at(instance.paused_until, [this, &instance, round] { send_open(instance, round); });
      return;
    }
    transmit(instance, instance.open, round);
    after((150 + pick(500)) * kMs, [this, &instance, round] { send_open(instance, round); });
  }

  void next(Instance& instance) {
    if (!instance.running) return;
    if (now_ < instance.paused_until) {
      return at(instance.paused_until, [this, &instance] { next(instance); });
    }
    CallRecord call;
    wire::Request request;
    const int process = instance.who.first;
    for (int i = 0; i < processes_; ++i) call.processes.insert(i);
    const int64_t what = calm() ? 0 : pick(12);
    if (what < 3) {
      call.kind = CallRecord::kLiveSet;
      if (!calm() && chance(0.2)) {
        call.processes = {process, static_cast<int>(pick(processes_))};
        request = live_set_request({call.processes.begin(), call.processes.end()}, 500);
      } else {
        request = live_set_request({}, 0);
      }
    } else if (what < 5) {
      call.kind = CallRecord::kBarrier;
      call.key = str_cat("b", instance.barriers++);
      request = barrier_request(call.key, {call.processes.begin(), call.processes.end()},
                                300 + pick(2000));
    } else if (what < 7) {
      call.kind = CallRecord::kIncrement;
      request = increment_request("count", 1);
    } else if (what < 8) {
      call.kind = CallRecord::kInsertOnce;
      call.key = str_cat("once", pick(6));
      call.number = next_value_++;
      request = insert_request(call.key, str_cat(call.number));
    } else if (what < 9) {
      call.kind = CallRecord::kInsertOwn;
      call.number = next_value_++;
      call.key = str_cat("own", call.number);
      request = insert_request(call.key, str_cat(call.number));
    } else if (what < 10) {
      call.kind = CallRecord::kOverwrite;
      call.key = str_cat("last", process);
      call.number = next_value_++;
      request = insert_request(call.key, str_cat(call.number), true);
    } else {
      call.kind = CallRecord::kRead;
      call.key = str_cat("last", pick(processes_));
      call.least = acknowledged_[call.key];
      request = get_request(call.key);
    }
    history_.calls.push_back(std::move(call));
    begin(instance, std::move(request), true);
  }

  void receive(Instance& instance, const wire::Reply& reply, uint64_t round) {
    if (!instance.running) return;
    if (now_ < instance.paused_until) {
      return at(instance.paused_until,
                [this, &instance, reply, round] { receive(instance, reply, round); });
    }
    if (reply.again()) return;
    if (round != 0 && round != instance.open_round) return;  // of a call that was answered
    if (round == 0) {                                        // a heartbeat
      if (reply.fenced()) end(instance);
      return;
    }
    ++instance.open_round;
    if (instance.open_call != SIZE_MAX) note_reply(history_.calls[instance.open_call], reply);
    if (reply.fenced()) return end(instance);
    if (!instance.registered) {
      instance.registered = true;
      instance.service = reply.service();
      history_.instances[instance.record].registered = now_;
      history_.instances[instance.record].order = reply.version();
    }
    after(calm() ? 200 * kMs : pick(20) * kMs, [this, &instance] { next(instance); });
  }

  void note_reply(CallRecord& call, const wire::Reply& reply) {
    call.answered = now_;
    call.code = reply.code();
    call.message = reply.message();
    call.fenced = reply.fenced();
    call.round = reply.round();
    for (const wire::Member& member : reply.members()) {
      call.members.push_back({member.process(), member.incarnation()});
    }
    if (call.kind == CallRecord::kIncrement) call.number = reply.number();
    if (call.kind == CallRecord::kOverwrite && reply.code() == 0) {
      int64_t& acknowledged = acknowledged_[call.key];
      acknowledged = std::max(acknowledged, call.number);
    }
    if (call.kind == CallRecord::kRead && reply.code() == 0) {
      CHECK(absl::SimpleAtoi(reply.value(), &call.number));
    }
  }

  // Killed, or fenced, which a process notices and exits. A quiet end only stops calling: it goes
  // on being alive.
  void end(Instance& instance, bool quietly = false) {
    if (quietly) return;
    instance.running = false;
    history_.instances[instance.record].ended = now_;
    if (!calm()) {
      const int process = instance.who.first;
      after((50 + pick(4000)) * kMs, [this, process] {
        if (!calm() && !is_running(process)) start(process);
      });
    }
  }

  bool is_running(int process) const {
    return std::any_of(instances_.begin(), instances_.end(), [&](const auto& instance) {
      return instance->who.first == process && instance->running;
    });
  }

  // The network. Copies and different delays make any order.

  Micros delay() { return chance(0.1) && !calm() ? pick(3000) * kMs : 100 + pick(30 * kMs); }
  bool cut(int process) const { return !calm() && now_ < partitions_[process]; }

  void transmit(Instance& instance, const wire::Request& request, uint64_t round) {
    const int copies = calm() ? 1 : chance(0.08) ? 0 : chance(0.15) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      after(delay(), [this, &instance, request, round] {
        if (!cut(instance.who.first)) arrive(instance, request, round);
      });
    }
  }

  void transmit_reply(const Output& output) {
    const auto found = callers_.find(output.call);
    if (found == callers_.end()) return;
    const auto [instance, round] = found->second;
    callers_.erase(found);
    if (!calm() && chance(0.08)) return;
    const auto reply = output.reply;
    after(delay(), [this, instance = instance, round = round, reply] {
      if (!cut(instance->who.first)) receive(*instance, *reply, round);
    });
  }

  // The coordinator.

  void start_coordinator() {
    clock_offset_ = pick(1'000'000) * kMs;
    StateOptions options = {.processes = processes_,
                            .recoverable = history_.recoverable,
                            .heartbeat_timeout = absl::Microseconds(kHeartbeatTimeout)};
    if (bug_ == Bug::kNeverFindsDead) options.heartbeat_timeout = absl::Hours(1000);
    state_ = std::make_unique<State>(options, 1 + random_() % 1'000'000'000, steady());
    if (bug_ == Bug::kLosesLastBatch && stored_.size() > 1) stored_.pop_back();
    for (const wire::Batch& batch : stored_) {
      const Status status = state_->restore(batch);
      CHECK_MSG(status.ok(), std::string(from_absl(status.message())));
    }
    const bool compacts = chance(0.5) && !stored_.empty();
    if (compacts) stored_.clear();
    if (stored_.empty()) {
      wire::Batch first = compacts ? state_->snapshot() : state_->take_records();
      stored_.emplace_back().Swap(&first);
    }
    tick();
  }

  absl::Duration steady() const { return absl::Microseconds(now_ + clock_offset_); }

  void tick() {
    const State* state = state_.get();
    if (!state) return;
    state_->advance(steady());
    flush();
    after(10 * kMs, [this, state] {
      if (state_.get() == state) tick();
    });
  }

  void arrive(Instance& instance, wire::Request request, uint64_t round) {
    if (!state_) return;
    corrupt(request);
    const CallId call = next_call_++;
    callers_[call] = {&instance, round};
    state_->handle(call, request, steady());
    if (bug_ == Bug::kDropsInserts && request.has_insert() && chance(0.1)) state_->take_records();
    // It may crash before it has stored what it did, or before it has told anyone.
    if (!calm() && chance(0.002)) return crash();
    flush();
  }

  void flush() {
    wire::Batch records = state_->take_records();
    std::vector<Output> outputs = state_->take_outputs();
    const bool forgets = bug_ == Bug::kRepliesBeforeStoring && chance(0.02);
    if (records.records_size() > 0 && !forgets) stored_.emplace_back().Swap(&records);
    if (!calm() && !outputs.empty() && chance(0.002)) return crash();
    for (Output& output : outputs) {
      corrupt(output);
      transmit_reply(output);
    }
    if (forgets && !calm()) crash();
  }

  void crash() {
    state_ = nullptr;
    callers_.clear();
    after(pick(1500) * kMs, [this] {
      if (!state_) start_coordinator();
    });
  }

  void corrupt(wire::Request& request) {
    wire::Caller& caller = *request.mutable_caller();
    if (bug_ == Bug::kAppliesCopies && !request.has_register_()) {
      caller.set_sequence(1'000'000 + next_call_);
      caller.set_oldest_open(0);
    }
    if (bug_ == Bug::kForgetsFence && !request.has_register_()) {
      const wire::Batch snapshot = state_->snapshot();
      for (const wire::Record& record : snapshot.records()) {
        const wire::Member& member = record.member_changed().member();
        if (record.has_member_changed() && member.process() == caller.process() &&
            member.state() == wire::Member::ALIVE) {
          caller.set_incarnation(member.incarnation());
        }
      }
    }
    if (bug_ == Bug::kReusesBarriers && request.has_barrier()) {
      request.mutable_barrier()->set_id(str_cat(request.barrier().id(), "/", now_ / (400 * kMs)));
    }
    if (bug_ == Bug::kBarrierTooEarly && request.has_barrier()) {
      request.mutable_barrier()->clear_processes();
      request.mutable_barrier()->add_processes(caller.process());
    }
    if (bug_ == Bug::kLiveSetTooEarly && request.has_live_set()) {
      wire::LiveSet& set = *request.mutable_live_set();
      if (set.processes().empty()) {
        for (int i = 0; i < std::max(1, processes_ - 1); ++i) set.add_processes(i);
      }
    }
  }

  void corrupt(Output& output) {
    if (output.reply->round() == 0) return;
    if (bug_ == Bug::kTellsOneLess && output.reply->members_size() > 1 && chance(0.1)) {
      wire::Reply reply = *output.reply;
      reply.mutable_members()->RemoveLast();
      output.reply = std::make_shared<const wire::Reply>(std::move(reply));
    }
    if (bug_ == Bug::kListsTheDead) {
      wire::Reply reply = *output.reply;
      for (int process = 0; process < processes_; ++process) {
        const bool there =
            std::any_of(reply.members().begin(), reply.members().end(),
                        [&](const wire::Member& member) { return member.process() == process; });
        const auto dead =
            std::find_if(history_.instances.rbegin(), history_.instances.rend(),
                         [&](const auto& instance) { return instance.who.first == process; });
        if (there || dead == history_.instances.rend() || reply.members_size() < 2) continue;
        reply.add_members()->set_process(process);
        reply.mutable_members()->rbegin()->set_incarnation(dead->who.second);
      }
      output.reply = std::make_shared<const wire::Reply>(std::move(reply));
    }
  }

  // What goes wrong.

  void trouble() {
    Instance& instance = *instances_[pick(static_cast<int64_t>(instances_.size()))];
    switch (pick(8)) {
      case 0:
      case 1:
      case 2:
        if (instance.running) end(instance);
        break;
      case 3:
        instance.paused_until = now_ + pick(4000) * kMs;
        break;
      case 4:  // another is started, while the first may be alive and only be paused
        instance.paused_until = now_ + pick(3000) * kMs;
        start(instance.who.first);
        break;
      case 5:
        partitions_[instance.who.first] = now_ + pick(4000) * kMs;
        break;
      default:
        if (state_ && chance(0.6)) crash();
    }
  }

  void finish() {
    for (const auto& instance : instances_) {
      // In the end all that live ask for nothing but live sets, so each is answered soon.
      if (!instance->running) continue;
      const bool waits = instance->open_call == SIZE_MAX ||
                         (history_.calls[instance->open_call].answered == kNever &&
                          history_.calls[instance->open_call].first_sent < kEnd - 2000 * kMs);
      if (waits) history_.stuck.push_back(instance->who);
    }
    if (!state_) start_coordinator();
    for (const auto& [key, value] : state_->key_values().all()) history_.final_values[key] = value;
    const std::string* count = state_->key_values().find("count");
    if (count) CHECK(absl::SimpleAtoi(*count, &history_.final_count));
  }

  std::mt19937_64 random_;
  const Bug bug_;
  int processes_ = 0;
  Micros now_ = 0;
  Micros clock_offset_ = 0;  // a restarted coordinator may run on another machine
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<Micros> partitions_;  // until when each process is cut off
  std::unique_ptr<State> state_;    // none while the coordinator is down
  std::vector<wire::Batch> stored_;
  CallId next_call_ = 1;
  std::map<CallId, std::pair<Instance*, uint64_t>> callers_;
  int64_t next_value_ = 1;
  std::map<std::string, int64_t> acknowledged_;
  History history_;
};

}  // namespace

History run_schedule(uint64_t seed, Bug bug) { return World(seed, bug).run(); }

}  // namespace tessera::coord
