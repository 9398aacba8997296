#include "tessera/data/sample_sequence.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tessera/base/hash.h"
#include "tessera/base/log.h"
#include "tessera/data/permutation.h"

namespace tessera {
namespace {

constexpr int kOneSource = 1, kMixture = 2;  // versions of the state
// More examples than any run uses, and few enough to count in blocks of a mixture.
constexpr int64_t kMostUses = int64_t{1} << 50;

template <typename T>
Status same(const Json& state, const char* key, const T& ours, const std::string& of = "") {
  if (state.at(key).get<T>() == ours) return {};
  return failed_precondition("data loader: the checkpoint was written with ", key, " = ",
                             state.at(key).dump(), of, ", this run has ", Json(ours).dump(),
                             ": the order of examples would differ");
}

/// That the examples are those that the checkpoint was written with.
Status same_data(const Json& state, const SampleSource& source) {
  const auto saved = state.at("data").get<std::string>();
  const std::string ours = source.examples->fingerprint();
  if (saved == ours) return {};
  const std::string key = source.name.empty() ? "data.store" : "data.mixture." + source.name;
  const bool is_same_store = saved.substr(0, saved.find('/')) == ours.substr(0, ours.find('/'));
  const std::string what =
      is_same_store ? ": examples are made of it in another way (training.sequence_length, "
                      "data.packing, data.validation_fraction, data.shuffle_seed or task), "
                    : " does not hold what it held when the checkpoint was written, ";
  return failed_precondition(key, what, "and the order of examples would differ: ", saved,
                             " then, ", ours, " now. ",
                             is_same_store ? "Set them as they were" : "Bring the old store back",
                             ", or choose another output_directory");
}

/// Tokens of the first `count` examples that a source gives.
int64_t tokens_in_first(const ExampleSource& examples, const SampleOrder& order, int64_t count) {
  const int64_t epoch = count / order.examples(), begin = epoch * order.examples();
  int64_t tokens = epoch * examples.tokens();
  if (!examples.only_last_is_short()) {
    for (int64_t at = begin; at < count; ++at) tokens += examples.tokens_in(order.at(at).example);
    return tokens;
  }
  const int64_t last = order.examples() - 1;
  const bool last_is_used = order.position_of({epoch, last}) < count;
  const int64_t padding = last_is_used ? examples.length() - examples.tokens_in(last) : 0;
  return tokens + (count - begin) * examples.length() - padding;
}

Status check_sources(const std::vector<SampleSource>& sources) {
  if (sources.empty()) return invalid_argument("data loader: there is no source");
  std::set<std::string> names;
  for (const SampleSource& source : sources) {
    const std::string of = source.name.empty() ? "" : str_cat(" of source ", source.name);
    if (source.epochs < 0)
      return invalid_argument("data loader: epochs is ", source.epochs, of, ", must be at least 0");
    if (source.examples->size() < 1)
      return invalid_argument("data loader: examples is 0", of, ", must be at least 1");
    if (source.examples->length() != sources[0].examples->length())
      return invalid_argument("data loader: sources have examples of different lengths");
    if (!names.insert(source.name).second)
      return invalid_argument("data loader: two sources are named ", source.name);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<SampleSequence>> SampleSequence::create(std::vector<SampleSource> sources,
                                                               uint64_t seed, bool shuffle) {
  RETURN_IF_ERROR(check_sources(sources));
  std::unique_ptr<SampleSequence> made(new SampleSequence(std::move(sources), seed, shuffle));
  std::vector<double> weights;
  std::vector<std::string> names;
  const bool is_mixture = !made->sources_[0].name.empty();
  for (const SampleSource& source : made->sources_) {
    weights.push_back(source.weight);
    names.push_back(source.name);
    // By its name, so that a source's order does not hang on what else is in the mixture.
    const uint64_t own = hash_bytes(std::as_bytes(std::span(source.name)));
    made->orders_.emplace_back(source.examples->size(), is_mixture ? mix64(seed ^ own) : seed,
                               shuffle);
  }
  made->begins_.resize(made->sources_.size());
  if (is_mixture) {
    ASSIGN_OR_RETURN(made->mixture_, MixtureOrder::create(weights, seed, shuffle, names));
  }
  made->find_end();
  return made;
}

SampleSequence::Place SampleSequence::at(int64_t position) const {
  if (!mixture_) return {0, orders_[0].at(position)};
  const MixtureOrder::Place place = mixture_->at(position - origin_);
  const auto source = static_cast<size_t>(place.source);
  return {place.source, orders_[source].at(begins_[source] + place.index)};
}

int64_t SampleSequence::used(size_t source, int64_t position) const {
  if (!mixture_) return position;
  return begins_[source] + mixture_->used(static_cast<int32_t>(source), position - origin_);
}

void SampleSequence::find_end() {
  end_ = -1;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].epochs == 0 || sources_[i].epochs > kMostUses / sources_[i].examples->size())
      continue;
    const int64_t uses = sources_[i].epochs * sources_[i].examples->size();
    const int64_t left = std::max<int64_t>(uses - begins_[i], 0);
    const int64_t end =
        mixture_ ? origin_ + mixture_->position_of(static_cast<int32_t>(i), left) : uses;
    if (end_ >= 0 && end >= end_) continue;
    end_ = end;
    first_to_end_ = i;
  }
}

std::string SampleSequence::end_text() const {
  const SampleSource& source = sources_[first_to_end_];
  return str_cat("all ", source.epochs, " epochs of ", source.examples->size(), " examples",
                 source.name.empty() ? "" : str_cat(" of source ", source.name), " are used");
}

int64_t SampleSequence::tokens_used(int64_t position) const {
  int64_t tokens = 0;
  for (size_t i = 0; i < sources_.size(); ++i)
    tokens += tokens_in_first(*sources_[i].examples, orders_[i], used(i, position));
  return tokens;
}

int64_t SampleSequence::examples() const {
  int64_t examples = 0;
  for (const SampleSource& source : sources_) examples += source.examples->size();
  return examples;
}

Status SampleSequence::check_batch(int64_t batch_size) const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    const SampleSource& source = sources_[i];
    const double share = mixture_ ? static_cast<double>(mixture_->places()[i]) / kMixtureBlock : 1;
    const double rows = std::ceil(share * static_cast<double>(batch_size));
    if (source.epochs > 0 || static_cast<double>(source.examples->size()) >= rows) continue;
    return invalid_argument(
        "too little data: ", source.examples->size(), " examples of ", source.examples->length(),
        " tokens", source.name.empty() ? "" : str_cat(" in source ", source.name), " do not fill ",
        source.name.empty() ? "" : "its part of ", "a batch of ", batch_size,
        "; use a smaller batch, shorter sequences or more text");
  }
  return {};
}

Json SampleSequence::state(int64_t position) const {
  Json state;
  state["position"] = position;
  state["tokens"] = tokens_used(position);
  state["seed"] = seed_;
  state["shuffle"] = shuffle_;
  state["sequence_length"] = sources_[0].examples->length();
  if (!mixture_) {
    state["version"] = kOneSource;
    state["epoch"] = position / orders_[0].examples();
    state["examples_per_epoch"] = orders_[0].examples();
    state["data"] = sources_[0].examples->fingerprint();
    return state;
  }
  state["version"] = kMixture;
  state["origin"] = origin_;
  state["sources"] = Json::array();
  for (size_t i = 0; i < sources_.size(); ++i) {
    state["sources"].push_back({{"name", sources_[i].name},
                                {"weight", sources_[i].weight},
                                {"begin", begins_[i]},
                                {"position", used(i, position)},
                                {"epoch", used(i, position) / orders_[i].examples()},
                                {"examples_per_epoch", orders_[i].examples()},
                                {"data", sources_[i].examples->fingerprint()}});
  }
  return state;
}

Status SampleSequence::check_common(const Json& state) const {
  RETURN_IF_ERROR(same(state, "seed", seed_));
  RETURN_IF_ERROR(same(state, "shuffle", shuffle_));
  return same(state, "sequence_length", sources_[0].examples->length());
}

Result<int64_t> SampleSequence::restore(const Json& state) {
  try {
    const int version = state.at("version").get<int>();
    if (version != kOneSource && version != kMixture)
      return failed_precondition("data loader: the checkpoint's data state has version ", version,
                                 ", which a newer program wrote");
    if ((version == kMixture) != (mixture_ != nullptr))
      return failed_precondition("data loader: the checkpoint is of a run ",
                                 mixture_ ? "of one store" : "with data.mixture", ", and this one ",
                                 mixture_ ? "has data.mixture" : "is of one store",
                                 ": the order of examples would differ");
    return mixture_ ? restore_mixture(state) : restore_one(state);
  } catch (const nlohmann::json::exception& error) {
    return data_loss("data loader: the checkpoint's data state is damaged: ", error.what());
  }
}

Result<int64_t> SampleSequence::restore_one(const Json& state) {
  RETURN_IF_ERROR(check_common(state));
  RETURN_IF_ERROR(same_data(state, sources_[0]));
  RETURN_IF_ERROR(same(state, "examples_per_epoch", orders_[0].examples()));
  return state.at("position").get<int64_t>();
}

Result<int64_t> SampleSequence::restore_mixture(const Json& state) {
  RETURN_IF_ERROR(check_common(state));
  const Json& saved = state.at("sources");
  std::vector<int64_t> begins(sources_.size()), positions(sources_.size());
  bool is_same = saved.size() == sources_.size();
  for (size_t at = 0; at < saved.size(); ++at) {
    const Json& source = saved[at];
    const auto name = source.at("name").get<std::string>();
    const auto found = std::find_if(sources_.begin(), sources_.end(),
                                    [&](const SampleSource& ours) { return ours.name == name; });
    if (found == sources_.end()) {
      log_info("data: the mixture is without ", name, " from here on");
      is_same = false;
      continue;
    }
    const auto i = static_cast<size_t>(found - sources_.begin());
    const std::string of = str_cat(" of source ", name);
    RETURN_IF_ERROR(same_data(source, *found));
    RETURN_IF_ERROR(same(source, "examples_per_epoch", orders_[i].examples(), of));
    begins[i] = source.at("begin").get<int64_t>();
    positions[i] = source.at("position").get<int64_t>();
    is_same = is_same && i == at && source.at("weight").get<double>() == found->weight;
  }
  const auto position = state.at("position").get<int64_t>();
  if (!is_same) log_info("data: another mixture begins at example ", position);
  origin_ = is_same ? state.at("origin").get<int64_t>() : position;
  begins_ = is_same ? begins : positions;
  find_end();
  return position;
}

}  // namespace tessera
