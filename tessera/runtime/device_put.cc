#include <algorithm>

#include "tessera/runtime/array.h"
#include "tessera/runtime/compiled_function.h"
#include "tessera/runtime/transfer.h"
#include "tessera/runtime/transfer_program.h"
#include "tessera/sharding/shardy.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera {
namespace {

/// A program that returns its argument, laid out anew: the partitioner finds the cheapest way over
/// the devices.
Result<Array> reshard_on_devices(Runtime& runtime, const Array& array, const NamedSharding& to) {
  const Shape& shape = array.shape();
  const std::string type = stablehlo::mlir_type(shape);
  const auto attribute = [&](const NamedSharding& sharding) {
    return str_cat(" {sdy.sharding = ", shardy_sharding(sharding.spec(), shape.rank()), "}");
  };
  Program program{
      .name = "device_put",
      .text = str_cat("module @device_put {\n  ", shardy_mesh(to.mesh()),
                      "\n  func.func public @main(%x: ", type, attribute(array.sharding()),
                      ") -> (", type, attribute(to), ") {\n    return %x : ", type, "\n  }\n}\n"),
      .mesh = to.mesh(),
      .arguments = {{"x", shape, array.sharding()}},
      .results = {{"x", shape, to}}};
  ASSIGN_OR_RETURN(const CompiledFunction reshard,
                   CompiledFunction::compile(runtime, std::move(program)));
  ASSIGN_OR_RETURN(std::vector<Array> results, reshard({&array, 1}));
  return std::move(results[0]);
}

// Asks the transfer guard.
Status check_move(const Runtime& runtime, const Array& array, const NamedSharding& to,
                  const TransferSite& site) {
  ASSIGN_OR_RETURN(const auto devices, runtime.local_devices(to.mesh()));
  const Shape& shape = array.shape();
  const auto of_parts = [&](const NamedSharding& sharding, size_t count) {
    return sharding.shard_shape(shape).host_bytes() * static_cast<int64_t>(count);
  };
  const int64_t bytes =
      std::max(of_parts(array.sharding(), array.pieces().size()), of_parts(to, devices.size()));
  const auto text = [&] {
    return str_cat("from ", describe(shape, array.sharding()), " over ",
                   to_string(array.sharding().mesh()), " to ", describe(shape, to), " over ",
                   to_string(to.mesh()),
                   devices.empty() ? "" : str_cat(", on ", devices[0].device.to_string()));
  };
  return check_transfer({TransferDirection::kDeviceToDevice, shape, bytes, text}, site);
}

}  // namespace

Result<Array> device_put(Runtime& runtime, const Array& array, const NamedSharding& sharding,
                         TransferSite site) {
  RETURN_IF_ERROR(array.check_alive());
  RETURN_IF_ERROR(sharding.check(array.shape()));
  if (array.sharding() == sharding) return array;
  RETURN_IF_ERROR(check_move(runtime, array, sharding, site));
  const TransferUnderWay under_way;
  // The partitioner's programs do not keep the bits of NaNs in narrow floats.
  const bool by_partitioner =
      array.sharding().mesh() == sharding.mesh() &&
      (!is_floating(array.shape().dtype) || carrier(array.shape().dtype) == array.shape().dtype) &&
      array.shape().elements() > 0;
  if (by_partitioner) {
    return reshard_on_devices(runtime, array, sharding);
  }
  return transfer(runtime, array,
                  {.from = holdings(array.sharding(), array.shape().dims),
                   .to = holdings(sharding, array.shape().dims),
                   .shape = array.shape(),
                   .sharding = sharding});
}

}  // namespace tessera
