#include "tessera/live/shared_errors.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "tessera/base/log.h"

namespace tessera {
namespace {

// A listener that is told nothing asks again after so long, and can end then.
constexpr absl::Duration kSlice = absl::Milliseconds(250);
constexpr size_t kLongest = 16384;

std::string block_key(uint64_t round) { return str_cat("live_devices/", round, "/"); }
std::string any_key(uint64_t round) { return block_key(round) + "any"; }
std::string errors_key(uint64_t round) { return block_key(round) + "error/"; }

// What waits for another process fails in such ways when that one has failed.
bool may_follow(const Status& error) {
  return error.code() == absl::StatusCode::kUnavailable ||
         error.code() == absl::StatusCode::kDeadlineExceeded ||
         error.code() == absl::StatusCode::kCancelled;
}

}  // namespace

std::string error_to_text(const Status& error) {
  return str_cat(static_cast<int>(error.code()), " ", from_absl(error.message()));
}

Status error_from_text(const std::string& text) {
  char* end = nullptr;
  const long code = std::strtol(text.c_str(), &end, 10);
  if (code < 1 || code > 16 || *end != ' ') return internal_error("an error without words");
  const auto message = static_cast<size_t>(end + 1 - text.c_str());
  return Status(static_cast<absl::StatusCode>(code), text.substr(message));
}

SharedErrors::SharedErrors(coord::Client& client, std::function<void()> on_error)
    : client_(client),
      on_error_(std::move(on_error)),
      thread_("shared-errors", [this] { listen(); }) {}

SharedErrors::~SharedErrors() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void SharedErrors::begin(uint64_t round) {
  const std::lock_guard lock(mutex_);
  round_ = round;
  changed_.notify_all();
}

Status SharedErrors::end(const Status& result) {
  uint64_t round = 0;
  {
    const std::lock_guard lock(mutex_);
    round = std::exchange(round_, 0);
  }
  std::ranges::move(std::exchange(keys_, {}), std::back_inserter(older_keys_));
  if (result.ok()) return absl::OkStatus();
  const std::string own = str_cat(errors_key(round), client_.process());
  RETURN_IF_ERROR(
      client_.insert(own, error_to_text(result).substr(0, kLongest), /*overwrite=*/true));
  keys_.push_back(own);
  const Status first = client_.insert(any_key(round), own);
  if (first.ok()) keys_.push_back(any_key(round));
  return first.code() == absl::StatusCode::kAlreadyExists ? absl::OkStatus() : first;
}

Status SharedErrors::result(uint64_t round) {
  ASSIGN_OR_RETURN(const auto errors, client_.list(errors_key(round)));
  std::vector<std::pair<int, Status>> all;
  for (const auto& [key, text] : errors)
    all.emplace_back(std::atoi(key.c_str() + errors_key(round).size()), error_from_text(text));
  if (all.empty()) return absl::OkStatus();
  const auto chosen = std::ranges::min_element(
      all, {}, [](const auto& one) { return std::pair(may_follow(one.second), one.first); });
  return annotate(chosen->second, str_cat("process ", chosen->first));
}

void SharedErrors::forget_older() {
  for (const std::string& key : older_keys_) {
    const Status erased = client_.erase(key).status();
    if (!erased.ok()) log_debug("forgetting an error: ", from_absl(erased.message()));
  }
  older_keys_.clear();
}

void SharedErrors::listen() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopped_ || (round_ != 0 && round_ != heard_); });
    if (stopped_) return;
    const uint64_t round = round_;
    lock.unlock();
    const Status told = client_.get(any_key(round), kSlice).status();
    lock.lock();
    if (told.code() == absl::StatusCode::kDeadlineExceeded || round_ != round) continue;
    // Another error is that of a client that can be asked no more, of which others hear otherwise.
    heard_ = round;
    if (told.ok()) on_error_();
  }
}

}  // namespace tessera
