#include "tessera/coord/exchange.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_join.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/json.h"

namespace tessera::coord {
namespace {

constexpr size_t kChunkBytes = 8 << 20;

uint32_t checksum(const HostArray& value) { return crc32c(std::as_const(value).bytes()); }

Tree<HostArray> one(const HostArray& value) {
  Tree<HostArray> tree;
  CHECK(tree.add("value", value).ok());
  return tree;
}

// "17.5" of the first element that differs in two arrays of one layout, for a message.
std::string first_difference(const HostArray& a, const HostArray& b) {
  const std::vector<double> x = to_doubles(a), y = to_doubles(b);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != y[i]) return str_cat("element ", i, " is ", x[i], " and ", y[i]);
  }
  return "they differ in bits only, as 0 and -0 do";
}

}  // namespace

// What a process does in a round, and the layout and checksum of what it brings.
struct Exchange::Header {
  struct Value {
    std::string path;
    Shape shape;
    uint32_t crc = 0;
  };
  int process = 0;
  std::string call;
  std::vector<Value> values;

  std::string to_text() const {
    Json list = Json::array();
    for (const Value& value : values) {
      list.push_back({value.path, dtype_name(value.shape.dtype),
                      std::vector<int64_t>(value.shape.dims.begin(), value.shape.dims.end()),
                      value.crc});
    }
    return Json{{"call", call}, {"values", std::move(list)}}.dump();
  }

  static Result<Header> from_text(int process, const std::string& text) {
    const Json parsed = Json::parse(text, nullptr, false);
    if (parsed.is_discarded() || !parsed.contains("call") || !parsed.contains("values"))
      return internal_error("process ", process, " sent what is no header of an exchange");
    Header header{.process = process, .call = parsed["call"], .values = {}};
    for (const Json& value : parsed["values"]) {
      ASSIGN_OR_RETURN(const DType dtype, parse_dtype(value[1].get<std::string>()));
      const auto dims = value[2].get<std::vector<int64_t>>();
      header.values.push_back(
          {value[0], Shape{dtype, Dims(dims.begin(), dims.end())}, value[3].get<uint32_t>()});
    }
    return header;
  }
};

Exchange::Exchange(Client& client, ExchangeOptions options)
    : client_(client), options_(std::move(options)), participants_(options_.processes) {
  if (participants_.empty()) {
    participants_.resize(client.processes());
    std::iota(participants_.begin(), participants_.end(), 0);
  }
  std::sort(participants_.begin(), participants_.end());
}

std::string Exchange::key(int64_t round, int process) const {
  return str_cat(options_.name, "/", round, "/", process);
}

Exchange::Header Exchange::header(std::string call, const Arrays& values) const {
  Header header{.process = client_.process(), .call = std::move(call), .values = {}};
  for (const auto& [path, value] : values)
    header.values.push_back({path, value.shape(), checksum(value)});
  return header;
}

Result<std::vector<Exchange::Header>> Exchange::meet(const Header& own) {
  const int64_t round = round_++;
  RETURN_IF_ERROR(client_.insert(str_cat(key(round, client_.process()), "/header"), own.to_text()));
  const Status met =
      client_.barrier(str_cat(options_.name, "/", round), options_.timeout, options_.processes);
  RETURN_IF_ERROR(annotate(met, own.call));
  // Whoever is here has read all of the round before.
  if (round > 0 && client_.process() == participants_.front())
    RETURN_IF_ERROR(client_.erase_prefix(str_cat(options_.name, "/", round - 1, "/")).status());
  std::vector<Header> headers;
  for (int process : participants_) {
    ASSIGN_OR_RETURN(const std::string text,
                     client_.get(str_cat(key(round, process), "/header"), options_.timeout));
    ASSIGN_OR_RETURN(Header header, Header::from_text(process, text));
    headers.push_back(std::move(header));
  }
  std::map<std::string, std::vector<int>> by_call;
  for (const Header& header : headers) by_call[header.call].push_back(header.process);
  if (by_call.size() == 1) return headers;
  std::string text;
  for (const auto& [call, processes] : by_call)
    str_append(&text, text.empty() ? "" : "; ", call, " on ", absl::StrJoin(processes, ", "));
  return failed_precondition(
      "processes must make the same calls in the same order, but these met: ", text);
}

Status Exchange::require_same_layout(const std::vector<Header>& headers) const {
  const Header& first = headers[0];
  for (const Header& header : headers) {
    if (header.values.size() != first.values.size()) {
      return invalid_argument(first.call, ": process ", first.process, " brings ",
                              first.values.size(), " values, process ", header.process, " brings ",
                              header.values.size());
    }
    for (size_t i = 0; i < first.values.size(); ++i) {
      const auto &a = first.values[i], &b = header.values[i];
      if (a.path == b.path && a.shape == b.shape) continue;
      return invalid_argument(first.call, ": process ", first.process, " brings ", a.path, " ",
                              to_string(a.shape), ", process ", header.process, " brings ", b.path,
                              " ", to_string(b.shape));
    }
  }
  return absl::OkStatus();
}

Status Exchange::put_values(const Arrays& values) {
  const std::string prefix = key(round_, client_.process());
  for (size_t i = 0; i < values.size(); ++i) {
    const std::span<const std::byte> bytes = values[i].second.bytes();
    for (size_t begin = 0; begin < bytes.size(); begin += kChunkBytes) {
      const auto chunk = bytes.subspan(begin, std::min(kChunkBytes, bytes.size() - begin));
      RETURN_IF_ERROR(
          client_.insert(str_cat(prefix, "/", i, "/", begin / kChunkBytes),
                         std::string(reinterpret_cast<const char*>(chunk.data()), chunk.size())));
    }
  }
  return absl::OkStatus();
}

Result<Exchange::Arrays> Exchange::get_values(const Header& header) {
  const std::string prefix = key(round_ - 1, header.process);
  Arrays values;
  for (size_t i = 0; i < header.values.size(); ++i) {
    HostArray value(header.values[i].shape);
    const std::span<std::byte> bytes = value.bytes();
    for (size_t begin = 0; begin < bytes.size(); begin += kChunkBytes) {
      ASSIGN_OR_RETURN(
          const std::string chunk,
          client_.get(str_cat(prefix, "/", i, "/", begin / kChunkBytes), options_.timeout));
      if (chunk.size() != std::min(kChunkBytes, bytes.size() - begin))
        return data_loss(header.values[i].path, " of process ", header.process, " came cut short");
      std::memcpy(bytes.data() + begin, chunk.data(), chunk.size());
    }
    if (checksum(value) != header.values[i].crc)
      return data_loss(header.values[i].path, " of process ", header.process, " came damaged");
    RETURN_IF_ERROR(values.add(header.values[i].path, std::move(value)));
  }
  return values;
}

Result<std::vector<Exchange::Arrays>> Exchange::get_all_values(const std::vector<Header>& headers) {
  std::vector<Arrays> all;
  for (const Header& header : headers) {
    ASSIGN_OR_RETURN(Arrays one, get_values(header));
    all.push_back(std::move(one));
  }
  return all;
}

Status Exchange::sync(const std::string& name) {
  return meet(header(str_cat("sync '", name, "'"), {})).status();
}

Result<Exchange::Arrays> Exchange::broadcast(const Arrays& values, int source) {
  const auto found = std::find(participants_.begin(), participants_.end(), source);
  if (found == participants_.end()) {
    return invalid_argument("broadcast from process ", source, ", but those that take part are ",
                            absl::StrJoin(participants_, ", "));
  }
  if (client_.process() == source) RETURN_IF_ERROR(put_values(values));
  ASSIGN_OR_RETURN(const auto headers, meet(header(str_cat("broadcast from ", source), values)));
  RETURN_IF_ERROR(require_same_layout(headers));
  if (client_.process() == source) return values;
  return get_values(headers[found - participants_.begin()]);
}

Result<HostArray> Exchange::broadcast(const HostArray& value, int source) {
  ASSIGN_OR_RETURN(Arrays values, broadcast(one(value), source));
  return std::move(values.value(0));
}

Result<std::vector<Exchange::Arrays>> Exchange::gather(const Arrays& values,
                                                       const std::string& what) {
  RETURN_IF_ERROR(put_values(values));
  ASSIGN_OR_RETURN(const auto headers, meet(header(str_cat("gather ", what), values)));
  return get_all_values(headers);
}

Result<std::vector<Exchange::Arrays>> Exchange::gather_to(const Arrays& values, int destination,
                                                          const std::string& what) {
  if (client_.process() != destination) RETURN_IF_ERROR(put_values(values));
  ASSIGN_OR_RETURN(const auto headers,
                   meet(header(str_cat("gather ", what, " on ", destination), values)));
  std::vector<Arrays> all;
  if (client_.process() != destination) return all;
  for (const Header& header : headers) {
    if (header.process == destination) {
      all.push_back(values);
      continue;
    }
    ASSIGN_OR_RETURN(Arrays one, get_values(header));
    all.push_back(std::move(one));
  }
  return all;
}

namespace {

// Puts arrays of one dtype one after the other: the first dimension is that of all.
HostArray join(const std::vector<const HostArray*>& parts, Dims dims) {
  HostArray whole(Shape{parts[0]->shape().dtype, std::move(dims)});
  size_t at = 0;
  for (const HostArray* part : parts) {
    std::memcpy(whole.bytes().data() + at, part->bytes().data(), part->bytes().size());
    at += part->bytes().size();
  }
  return whole;
}

std::vector<const HostArray*> column(const std::vector<Tree<HostArray>>& all, size_t i) {
  std::vector<const HostArray*> parts;
  for (const auto& values : all) parts.push_back(&values[i].second);
  return parts;
}

Dims with_first(int64_t size, const Dims& rest) {
  Dims dims = rest;
  dims.insert(dims.begin(), size);
  return dims;
}

}  // namespace

Result<std::map<int64_t, std::string>> Exchange::gather_texts(const std::string& text,
                                                              const std::string& what) {
  ASSIGN_OR_RETURN(
      const auto all,
      gather(one(HostArray::from<char>(DType::kU8, {static_cast<int64_t>(text.size())}, text)),
             what));
  std::map<int64_t, std::string> result;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto bytes = all[i].at("value").as<char>();
    result.emplace(participants_[i], std::string(bytes.begin(), bytes.end()));
  }
  return result;
}

Result<Exchange::Arrays> Exchange::stack(const Arrays& values) {
  RETURN_IF_ERROR(put_values(values));
  ASSIGN_OR_RETURN(const auto headers, meet(header("stack", values)));
  RETURN_IF_ERROR(require_same_layout(headers));
  ASSIGN_OR_RETURN(const std::vector<Arrays> all, get_all_values(headers));
  Arrays stacked;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [path, own] = values[i];
    RETURN_IF_ERROR(stacked.add(
        path,
        join(column(all, i), with_first(static_cast<int64_t>(all.size()), own.shape().dims))));
  }
  return stacked;
}

Result<Exchange::Arrays> Exchange::concatenate(const Arrays& values) {
  RETURN_IF_ERROR(put_values(values));
  ASSIGN_OR_RETURN(auto headers, meet(header("concatenate", values)));
  std::vector<Header> alike = headers;  // but for the sizes that are joined
  for (Header& header : alike) {
    for (Header::Value& value : header.values) {
      if (value.shape.rank() > 0) value.shape.dims[0] = 0;
    }
  }
  RETURN_IF_ERROR(require_same_layout(alike));
  ASSIGN_OR_RETURN(const std::vector<Arrays> all, get_all_values(headers));
  Arrays joined;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto parts = column(all, i);
    Dims dims = values[i].second.shape().dims;
    if (dims.empty()) {
      dims = {static_cast<int64_t>(parts.size())};
    } else {
      dims[0] = 0;
      for (const HostArray* part : parts) dims[0] += part->shape().dims[0];
    }
    RETURN_IF_ERROR(joined.add(values[i].first, join(parts, std::move(dims))));
  }
  return joined;
}

Status Exchange::require_equal(const Arrays& values, const std::string& what) {
  ASSIGN_OR_RETURN(const auto headers, meet(header(str_cat("require equal ", what), values)));
  RETURN_IF_ERROR(require_same_layout(headers));
  const Header& first = headers[0];
  for (const Header& header : headers) {
    for (size_t i = 0; i < first.values.size(); ++i) {
      if (header.values[i].crc == first.values[i].crc) continue;
      // All processes see this, so all come to the second round, which has the values themselves.
      ASSIGN_OR_RETURN(const auto all, gather(values, what));
      const auto place = static_cast<size_t>(&header - headers.data());
      return failed_precondition(what, ": ", first.values[i].path, " is not the same on processes ",
                                 first.process, " and ", header.process, ": ",
                                 first_difference(all[0][i].second, all[place][i].second));
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera::coord
