#include "tessera/runtime/transfer_program.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_join.h"
#include "tessera/sharding/shardy.h"
#include "tessera/stablehlo/emitter.h"
#include "tessera/stablehlo/module.h"

namespace tessera {
namespace {

using stablehlo::mlir_type;
using Kind = TransferRound::Kind;

constexpr char kAxis[] = "devices";

// Writes what one device does, in an order that is the same for all.
class Body {
 public:
  Body(stablehlo::Emitter& e, const TransferPlan& plan, DType dtype, const Dims& source,
       const Dims& destination)
      : e_(e),
        plan_(plan),
        dtype_(dtype),
        source_{carrier(dtype), source},
        destination_{carrier(dtype), destination} {
    int64_t most = 1;
    for (const Dims* dims : {&source, &destination}) {
      for (int64_t size : *dims) most = std::max(most, size);
    }
    index_ = most > std::numeric_limits<int32_t>::max() ? DType::kS64 : DType::kS32;
  }

  /// `argument` is a device's own part; the result's name.
  std::string write(const std::string& argument) {
    argument_ = convert(argument, {dtype_, source_.dims}, source_.dtype);
    if (plan_.device_ids.size() > 1) {
      place_ = e_.helper("stablehlo.partition_id : tensor<ui32>");
      place_ = e_.helper(str_cat("stablehlo.convert ", place_, " : (tensor<ui32>) -> tensor<i32>"));
    }
    for (const TransferRound& round : plan_.rounds) write(round);
    if (result_.empty()) result_ = zeros(destination_);
    return convert(result_, destination_, dtype_);
  }

 private:
  std::string zeros(const Shape& shape) {
    return e_.helper(str_cat("stablehlo.constant dense<", stablehlo::mlir_literal(shape.dtype, 0),
                             "> : ", mlir_type(shape)));
  }

  std::string convert(const std::string& value, const Shape& from, DType to) {
    if (from.dtype == to) return value;
    const bool bits = is_floating(from.dtype) || is_floating(to);
    return e_.helper(str_cat(bits ? "stablehlo.bitcast_convert " : "stablehlo.convert ", value,
                             " : (", mlir_type(from), ") -> ", mlir_type(Shape{to, from.dims})));
  }

  // The own element of a table with one a device.
  std::string own(const std::vector<std::string>& table, const std::string& type) {
    const bool same = std::equal(table.begin() + 1, table.end(), table.begin());
    if (same) {
      return e_.helper(str_cat("stablehlo.constant dense<", table[0], "> : tensor<", type, ">"));
    }
    const std::string list = str_cat("tensor<", table.size(), "x", type, ">");
    const std::string all =
        e_.helper(str_cat("stablehlo.constant dense<[", absl::StrJoin(table, ", "), "]> : ", list));
    const std::string one =
        e_.helper(str_cat("stablehlo.dynamic_slice ", all, ", ", place_, ", sizes = [1] : (", list,
                          ", tensor<i32>) -> tensor<1x", type, ">"));
    return e_.helper(
        str_cat("stablehlo.reshape ", one, " : (tensor<1x", type, ">) -> tensor<", type, ">"));
  }

  using Start = Dims TransferPiece::*;
  using Device = int64_t TransferPiece::*;

  // ", %a, %b": where each device's own piece begins. Devices without one do as the first that has
  // one: what they read or write there is dropped.
  std::string starts(const TransferRound& round, Device device, Start start) {
    std::string names;
    for (size_t dim = 0; dim < round.dims.size(); ++dim) {
      std::vector<std::string> table(plan_.device_ids.size(),
                                     str_cat((round.pieces[0].*start)[dim]));
      for (const TransferPiece& piece : round.pieces)
        table[piece.*device] = str_cat((piece.*start)[dim]);
      str_append(&names, ", ", own(table, mlir_type(index_)));
    }
    return names;
  }
  std::string start_types(const TransferRound& round) const {
    std::string types;
    for (size_t dim = 0; dim < round.dims.size(); ++dim)
      str_append(&types, ", tensor<", mlir_type(index_), ">");
    return types;
  }

  std::string slice(const std::string& value, const Shape& shape, const TransferRound& round,
                    const std::string& starts) {
    return e_.helper(str_cat("stablehlo.dynamic_slice ", value, starts,
                             ", sizes = ", stablehlo::mlir_list(round.dims), " : (",
                             mlir_type(shape), start_types(round), ") -> ", piece_type(round)));
  }
  std::string piece_type(const TransferRound& round) const {
    return mlir_type(Shape{source_.dtype, round.dims});
  }

  std::string permute(const std::string& value, const TransferRound& round) {
    std::vector<std::string> pairs;
    for (const TransferPiece& piece : round.pieces)
      pairs.push_back(str_cat("[", piece.source, ", ", piece.destination, "]"));
    const std::string type = piece_type(round);
    return e_.helper(
        str_cat("\"stablehlo.collective_permute\"(", value,
                ") <{channel_handle = #stablehlo.channel_handle<handle = ", e_.next_channel(),
                ", type = 1>, source_target_pairs = dense<[", absl::StrJoin(pairs, ", "),
                "]> : tensor<", pairs.size(), "x2xi64>}> : (", type, ") -> ", type));
  }

  void write(const TransferRound& round) {
    const bool relayed = round.kind == Kind::kRelayed;
    std::string piece = relayed ? result_ : argument_;
    const Shape& whole = relayed ? destination_ : source_;
    if (round.dims != whole.dims) {
      piece = slice(piece, whole, round,
                    starts(round, &TransferPiece::source, &TransferPiece::source_start));
    }
    if (round.kind != Kind::kWithin) piece = permute(piece, round);
    put(piece, round);
  }

  // Into the result, on the devices that got a piece.
  void put(std::string piece, const TransferRound& round) {
    const bool fills = round.dims == destination_.dims;
    if (fills && result_.empty()) {
      result_ = std::move(piece);
      return;
    }
    if (result_.empty()) result_ = zeros(destination_);
    const std::string at =
        fills ? "" : starts(round, &TransferPiece::destination, &TransferPiece::destination_start);
    if (round.pieces.size() < plan_.device_ids.size()) {
      std::vector<std::string> table(plan_.device_ids.size(), "false");
      for (const TransferPiece& one : round.pieces) table[one.destination] = "true";
      const std::string got = own(table, "i1");
      const std::string before = fills ? result_ : slice(result_, destination_, round, at);
      piece = e_.helper(str_cat("stablehlo.select ", got, ", ", piece, ", ", before,
                                " : tensor<i1>, ", piece_type(round)));
    }
    if (fills) {
      result_ = std::move(piece);
      return;
    }
    result_ = e_.helper(str_cat("stablehlo.dynamic_update_slice ", result_, ", ", piece, at, " : (",
                                mlir_type(destination_), ", ", piece_type(round),
                                start_types(round), ") -> ", mlir_type(destination_)));
  }

  stablehlo::Emitter& e_;
  const TransferPlan& plan_;
  const DType dtype_;
  const Shape source_, destination_;  // as they travel
  DType index_;
  std::string place_;     // of the device in the plan
  std::string argument_;  // as it travels
  std::string result_;    // so far; empty before the first round
};

// A tensor of which each device has a part of these dimensions: joined along the first, or said to
// be the same everywhere where there is none.
Result<ProgramValue> per_device(const Mesh& mesh, DType dtype, const Dims& dims) {
  Shape shape{dtype, dims};
  PartitionSpec spec;
  if (!dims.empty()) {
    shape.dims[0] *= mesh.size();
    spec.dims = {{kAxis}};
  }
  ASSIGN_OR_RETURN(NamedSharding sharding, NamedSharding::create(mesh, std::move(spec)));
  return ProgramValue{"x", std::move(shape), std::move(sharding)};
}

}  // namespace

DType carrier(DType dtype) {
  switch (dtype) {
    case DType::kS4:
      return DType::kS8;
    case DType::kBool:
    case DType::kU4:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return DType::kU8;
    case DType::kBF16:
    case DType::kF16:
      return DType::kU16;
    default:
      return dtype;
  }
}

Result<Program> transfer_program(const TransferPlan& plan, DType dtype, const Dims& source,
                                 const Dims& destination) {
  ASSIGN_OR_RETURN(
      const Mesh mesh,
      Mesh::create({{kAxis, static_cast<int64_t>(plan.device_ids.size())}}, plan.device_ids));
  ASSIGN_OR_RETURN(ProgramValue argument, per_device(mesh, dtype, source));
  ASSIGN_OR_RETURN(ProgramValue result, per_device(mesh, dtype, destination));
  const stablehlo::ModuleOptions options;
  stablehlo::Emitter e(options);
  Body body(e, plan, dtype, source, destination);
  const bool alone = mesh.size() == 1;
  const auto sharding = [&](const ProgramValue& value) {
    return shardy_sharding(value.sharding.spec(), value.shape.rank());
  };
  const auto attribute = [&](const ProgramValue& value) {
    return alone ? "" : str_cat(" {sdy.sharding = ", sharding(value), "}");
  };
  const auto bare = [&](const ProgramValue& value) {
    return sharding(value).substr(std::string_view("#sdy.sharding").size());
  };
  const std::string in = mlir_type(argument.shape), out = mlir_type(result.shape);
  e.line("module @device_put {");
  if (!alone) e.line(shardy_mesh(mesh));
  e.line("func.func public @main(%x: ", in, attribute(argument), ") -> (", out, attribute(result),
         ") {");
  if (alone) {
    e.line("return ", body.write("%x"), " : ", out);
  } else {
    const std::string own = mlir_type(Shape{dtype, destination});
    e.line("%whole = sdy.manual_computation(%x) in_shardings=[", bare(argument),
           "] out_shardings=[", bare(result), "] manual_axes={\"", kAxis,
           "\"} (%own: ", mlir_type(Shape{dtype, source}), ") {");
    e.line("sdy.return ", body.write("%own"), " : ", own);
    e.line("} : (", in, ") -> ", out);
    e.line("return %whole : ", out);
  }
  e.line("}");
  e.line("}");
  return Program{.name = "device_put",
                 .text = e.take(),
                 .mesh = mesh,
                 .arguments = {std::move(argument)},
                 .results = {std::move(result)}};
}

}  // namespace tessera
