// What is stored, and back.

#include <algorithm>
#include <map>

#include "tessera/base/strings.h"
#include "tessera/coord/state.h"

namespace tessera::coord {

Status State::restore(const wire::Batch& batch) {
  records_.Clear();
  for (const wire::Record& record : batch.records()) RETURN_IF_ERROR(restore_record(record));
  return absl::OkStatus();
}

Status State::restore_record(const wire::Record& record) {
  switch (record.kind_case()) {
    case wire::Record::kStarted:
      return restore_started(record.started());
    case wire::Record::kMemberChanged:
      return restore_member(record.member_changed());
    case wire::Record::kAnswered: {
      const auto reply = std::make_shared<const wire::Reply>(record.answered().reply());
      round_ = std::max(round_, reply->round());
      for (const wire::Caller& caller : record.answered().callers()) {
        if (!is_process(caller.process())) return data_loss("a call of process ", caller.process());
        keep_answer(caller, reply);
      }
      return absl::OkStatus();
    }
    case wire::Record::kBarrierEnded: {
      const wire::BarrierEnded& ended = record.barrier_ended();
      remember_barrier(ended.id(),
                       Status(static_cast<absl::StatusCode>(ended.code()), ended.message()));
      return absl::OkStatus();
    }
    case wire::Record::kPut:
      return values_.put(record.put().key(), record.put().value(), /*overwrite=*/true);
    case wire::Record::kErased:
      values_.erase(record.erased().key());
      return absl::OkStatus();
    case wire::Record::kFailed:
      failure_ =
          Status(static_cast<absl::StatusCode>(record.failed().code()), record.failed().message());
      return absl::OkStatus();
    default:
      return data_loss("a record of a kind that this version does not know");
  }
}

Status State::restore_started(const wire::Started& started) {
  if (started.processes() != options_.processes) {
    return failed_precondition("it is of a cluster of ", started.processes(),
                               " processes, and this one has ", options_.processes,
                               ". Give the same number, or another folder.");
  }
  if (started.recoverable() != options_.recoverable) {
    return failed_precondition(
        "it is of a cluster ", started.recoverable() ? "with" : "without",
        " --recoverable, unlike this one. Start it the same, or with another "
        "folder.");
  }
  if (started.service() == 0) return data_loss("a service 0");
  service_ = started.service();
  version_ = first_change_ = started.version();
  round_ = started.round();
  return absl::OkStatus();
}

Status State::restore_member(const wire::MemberChanged& changed) {
  const wire::Member& stored = changed.member();
  if (!is_process(stored.process())) return data_loss("a member of process ", stored.process());
  Member& member = members_[stored.process()];
  if (member.incarnation != stored.incarnation()) {
    if (member.incarnation != 0) member.past.insert(member.incarnation);
    member.incarnation = stored.incarnation();
    member.oldest_open = 0;
    member.answered.clear();
  }
  member.past.insert(changed.past().begin(), changed.past().end());
  member.state = stored.state();
  member.host = stored.host();
  member.why_dead = stored.why();
  trim_answers(member, changed.oldest_open());
  // Nobody knows how long ago it was heard of: it gets the full time.
  member.last_heard = start_;
  next_heartbeat_check_ = std::min(next_heartbeat_check_, start_ + options_.heartbeat_timeout);
  // A snapshot's members are not changes. first_change_ moves along, so that whoever knows less
  // gets all of them.
  ++version_;
  first_change_ = version_;
  return absl::OkStatus();
}

wire::Batch State::snapshot() const {
  wire::Batch batch;
  wire::Started& started = *batch.add_records()->mutable_started();
  started.set_service(service_);
  started.set_processes(options_.processes);
  started.set_recoverable(options_.recoverable);
  started.set_version(version_);
  started.set_round(round_);
  std::map<const wire::Reply*, wire::Answered> answers;
  for (int process = 0; process < options_.processes; ++process) {
    const Member& member = members_[process];
    if (member.state == wire::Member::UNKNOWN) continue;
    wire::MemberChanged& changed = *batch.add_records()->mutable_member_changed();
    *changed.mutable_member() = member_record(process);
    for (const uint64_t past : member.past) changed.add_past(past);
    changed.set_oldest_open(member.oldest_open);
    for (const auto& [sequence, reply] : member.answered) {
      wire::Answered& answered = answers[reply.get()];
      *answered.mutable_reply() = *reply;
      wire::Caller& caller = *answered.add_callers();
      caller.set_process(process);
      caller.set_incarnation(member.incarnation);
      caller.set_sequence(sequence);
    }
  }
  for (auto& [reply, answered] : answers) {
    *batch.add_records()->mutable_answered() = std::move(answered);
  }
  for (size_t i = 0; i < ended_order_.size(); ++i) {
    const std::string& id = ended_order_[(ended_next_ + i) % ended_order_.size()];
    const Status& result = ended_barriers_.at(id);
    wire::BarrierEnded& ended = *batch.add_records()->mutable_barrier_ended();
    ended.set_id(id);
    ended.set_code(static_cast<int>(result.code()));
    ended.set_message(std::string(from_absl(result.message())));
  }
  for (const auto& [key, value] : values_.all()) {
    wire::Put& put = *batch.add_records()->mutable_put();
    put.set_key(key);
    put.set_value(value);
  }
  if (!failure_.ok()) {
    wire::Failed& failed = *batch.add_records()->mutable_failed();
    failed.set_code(static_cast<int>(failure_.code()));
    failed.set_message(std::string(from_absl(failure_.message())));
  }
  return batch;
}

}  // namespace tessera::coord
