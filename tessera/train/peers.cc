#include "tessera/train/peers.h"

#include <cstring>

#include "absl/strings/numbers.h"
#include "tessera/coord/shared_values.h"
#include "tessera/live/shared_errors.h"

namespace tessera {
namespace {

coord::Exchange::Arrays as_arrays(const std::string& text) {
  HostArray bytes(Shape{DType::kU8, {static_cast<int64_t>(text.size())}});
  std::memcpy(bytes.bytes().data(), text.data(), text.size());
  coord::Exchange::Arrays arrays;
  CHECK(arrays.add("text", std::move(bytes)).ok());
  return arrays;
}

std::string as_text(const coord::Exchange::Arrays& arrays) {
  const std::span<const std::byte> bytes = arrays.at("text").bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string topic_prefix(const std::string& name, const std::string& topic) {
  return str_cat("tessera/peers/", name, "/", topic, "/");
}

}  // namespace

Peers::Peers(coord::Client& client, const std::string& name)
    : client_(&client),
      name_(name),
      exchange_(std::make_unique<coord::Exchange>(client, coord::ExchangeOptions{.name = name})) {}

std::unique_ptr<Peers> Peers::again(const std::string& name) const {
  return alone() ? std::make_unique<Peers>() : std::make_unique<Peers>(*client_, name);
}

pjrt::ProcessGroup Peers::group() const {
  if (alone()) return {};
  return {.process = process(),
          .processes = count(),
          .key_values = coord::shared_values(*client_, str_cat("devices/", clients_++, "/")),
          .own_key_values = true,
          .slice = std::nullopt};
}

void Peers::give_up(const Status& why) {
  if (!alone()) client_->report_error(why).IgnoreError();
}

Status Peers::agree(const std::string& what, const Status& own) {
  if (alone()) return own;
  const std::string text = own.ok() ? "" : error_to_text(own);
  ASSIGN_OR_RETURN(const auto all,
                   exchange_->gather_texts(text, str_cat("whether ", what, " went well")));
  if (!own.ok()) return own;
  for (const auto& [process, error] : all) {
    if (error.empty()) continue;
    return annotate(error_from_text(error), str_cat(what, " failed on process ", process));
  }
  return absl::OkStatus();
}

Status Peers::lead(const std::string& what, const std::function<Status()>& work) {
  return agree(what, leads() ? work() : absl::OkStatus());
}

Result<int64_t> Peers::from_leader(int64_t value) {
  if (alone()) return value;
  ASSIGN_OR_RETURN(const HostArray got,
                   exchange_->broadcast(HostArray::from<int64_t>(DType::kS64, {}, {&value, 1})));
  return got.as<int64_t>()[0];
}

Result<std::string> Peers::text_from_leader(const std::string& text) {
  if (alone()) return text;
  // All must bring values of one layout.
  ASSIGN_OR_RETURN(const int64_t size, from_leader(static_cast<int64_t>(text.size())));
  const std::string padded = leads() ? text : std::string(static_cast<size_t>(size), ' ');
  ASSIGN_OR_RETURN(const coord::Exchange::Arrays got, exchange_->broadcast(as_arrays(padded)));
  return as_text(got);
}

Result<std::map<int64_t, std::string>> Peers::gather_everywhere(const std::string& text) {
  if (alone()) return std::map<int64_t, std::string>{{0, text}};
  return exchange_->gather_texts(text);
}

Result<std::vector<std::string>> Peers::gather(const std::string& text) {
  if (alone()) return std::vector<std::string>{text};
  ASSIGN_OR_RETURN(const auto all, exchange_->gather_to(as_arrays(text), 0));
  std::vector<std::string> texts;
  for (const auto& arrays : all) texts.push_back(as_text(arrays));
  return texts;
}

Status Peers::publish(const std::string& topic, const std::string& text) {
  if (alone()) return absl::OkStatus();
  return client_->insert(str_cat(topic_prefix(name_, topic), process()), text, /*overwrite=*/true);
}

Result<std::map<int, std::string>> Peers::published(const std::string& topic) const {
  std::map<int, std::string> result;
  if (alone()) return result;
  const std::string prefix = topic_prefix(name_, topic);
  ASSIGN_OR_RETURN(auto values, client_->list(prefix));
  for (auto& [key, text] : values) {
    int process = 0;
    if (absl::SimpleAtoi(key.substr(prefix.size()), &process)) result[process] = std::move(text);
  }
  return result;
}

Status Peers::declare_dead(int process, uint64_t incarnation, const std::string& why) {
  if (alone()) return absl::OkStatus();
  return client_->declare_dead({process, incarnation}, why);
}

Result<bool> Peers::agree_on_step(const std::string& what, int64_t step, bool wanted) {
  if (alone()) return wanted;
  Agreement& agreement = agreements_[what];
  if (!agreement.point) {
    agreement.point = std::make_unique<coord::SyncPoint>(*client_, str_cat(name_, "/", what));
  }
  if (wanted && !agreement.noticed) {
    RETURN_IF_ERROR(agreement.point->notice());
    agreement.noticed = true;
  }
  return agreement.point->reached(step);
}

}  // namespace tessera
