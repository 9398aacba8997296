#include <limits>

#include "absl/strings/numbers.h"
#include "tessera/base/strings.h"
#include "tessera/coord/state.h"

namespace tessera::coord {

void State::record_put(const std::string& key, const std::string& value) {
  wire::Put& put = *records_.add_records()->mutable_put();
  put.set_key(key);
  put.set_value(value);
}

void State::answer_gets(const std::string& key, const std::string& value) {
  const auto found = gets_.find(key);
  if (found == gets_.end()) return;
  wire::Reply reply = reply_of(absl::OkStatus());
  reply.set_value(value);
  const auto shared = std::make_shared<const wire::Reply>(std::move(reply));
  const std::set<CallId> calls = found->second;
  for (const CallId call : calls) {
    take_wait(call);
    outputs_.push_back({call, shared});
  }
}

void State::insert(CallId call, const wire::Request& request) {
  const wire::Insert& insert = request.insert();
  const Status status = values_.put(insert.key(), insert.value(), insert.overwrite());
  if (status.ok()) record_put(insert.key(), insert.value());
  answer_once(call, request.caller(), reply_of(status));
  if (status.ok()) answer_gets(insert.key(), insert.value());
}

void State::get(CallId call, const wire::Request& request, absl::Duration now) {
  const wire::Get& get = request.get();
  const Result<absl::Duration> timeout = timeout_of(get.timeout_ms());
  if (!timeout.ok()) return answer(call, timeout.status());
  if (const std::string* value = values_.find(get.key())) {
    wire::Reply reply = reply_of(absl::OkStatus());
    reply.set_value(*value);
    return answer(call, std::move(reply));
  }
  if (get.key().size() > options_.max_id_bytes) return answer(call, not_found("no such key"));
  add_wait(call,
           {.kind = Wait::kGet,
            .process = request.caller().process(),
            .key = get.key(),
            .timeout = *timeout},
           now);
  end_waits(now);
}

void State::increment(CallId call, const wire::Request& request) {
  const std::string& key = request.increment().key();
  const std::string* old = values_.find(key);
  int64_t value = 0;
  if (old && !absl::SimpleAtoi(*old, &value)) {
    return answer_once(call, request.caller(),
                       reply_of(invalid_argument("key ", quoted(key), " holds ", quoted(*old),
                                                 ", which is no integer to increment")));
  }
  if (__builtin_add_overflow(value, request.increment().by(), &value)) {
    return answer_once(call, request.caller(),
                       reply_of(absl::OutOfRangeError(
                           str_cat("key ", quoted(key), ": the sum does not fit 64 bits"))));
  }
  const std::string text = str_cat(value);
  const Status status = values_.put(key, text, /*overwrite=*/true);
  wire::Reply reply = reply_of(status);
  if (status.ok()) {
    record_put(key, text);
    reply.set_number(value);
  }
  answer_once(call, request.caller(), std::move(reply));
  if (status.ok()) answer_gets(key, text);
}

void State::list(CallId call, const wire::Request& request) {
  wire::Reply reply = reply_of(absl::OkStatus());
  int64_t bytes = 0;
  for (const std::string& key : values_.keys(request.list().prefix())) {
    wire::Pair& pair = *reply.add_pairs();
    pair.set_key(key);
    pair.set_value(*values_.find(key));
    bytes += static_cast<int64_t>(key.size() + pair.value().size());
    if (bytes > options_.max_list_bytes) {
      return answer(call, absl::ResourceExhaustedError(str_cat(
                              "the key-values that begin with ", quoted(request.list().prefix()),
                              " have more than ", options_.max_list_bytes,
                              " bytes together: ask for a longer prefix, or for each")));
    }
  }
  answer(call, std::move(reply));
}

void State::erase(CallId call, const wire::Request& request) {
  const wire::Erase& erase = request.erase();
  const std::vector<std::string> keys =
      erase.prefix() ? values_.keys(erase.key()) : std::vector<std::string>{erase.key()};
  int64_t erased = 0;
  for (const std::string& key : keys) {
    if (!values_.erase(key)) continue;
    ++erased;
    records_.add_records()->mutable_erased()->set_key(key);
  }
  wire::Reply reply = reply_of(absl::OkStatus());
  reply.set_number(erased);
  answer_once(call, request.caller(), std::move(reply));
}

}  // namespace tessera::coord
