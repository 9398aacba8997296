#include "tessera/runtime/argument.h"

#include <functional>

#include "tessera/runtime/jit.h"

namespace tessera {
namespace {

constexpr int64_t kShown = 3;  // of a dimension, at each end

Result<Array> bring(Runtime& runtime, const ProgramValue& required, const Argument& argument,
                    const TransferSite& site) {
  if (const auto* host = std::get_if<HostArray>(&argument)) {
    if (host->shape() != required.shape) {
      return invalid_argument("got ", to_string(host->shape()), " of the host's, required ",
                              describe(required.shape, required.sharding));
    }
    return Array::from_host(runtime, *host, required.sharding, nullptr, site);
  }
  const Array& array = std::get<Array>(argument);
  // Of another shape: the call says what is wrong.
  if (!array.defined() || array.shape() != required.shape) return array;
  return device_put(runtime, array, required.sharding, site);
}

std::string element(const HostArray& array, const std::vector<double>& values, int64_t i) {
  switch (array.shape().dtype) {
    case DType::kBool:
      return values[i] != 0 ? "true" : "false";
    case DType::kS64:  // doubles cannot hold them all
      return str_cat(array.as<int64_t>()[i]);
    case DType::kU64:
      return str_cat(array.as<uint64_t>()[i]);
    default:
      return str_cat(values[i]);
  }
}

}  // namespace

Result<Tree<Array>> call(Runtime& runtime, const CompiledFunction& function,
                         const Tree<Argument>& arguments, TransferSite site) {
  Tree<Array> brought;
  for (const auto& [path, argument] : arguments) {
    const ProgramValue* required = nullptr;
    for (const ProgramValue& one : function.arguments())
      if (one.path == path) required = &one;
    if (required == nullptr) {  // the call finds the nearest name
      RETURN_IF_ERROR(brought.add(path, Array()));
      continue;
    }
    auto array = bring(runtime, *required, argument, site);
    RETURN_IF_ERROR(annotate(array.status(),
                             str_cat("call of '", function.name(), "': argument '", path, "'")));
    RETURN_IF_ERROR(brought.add(path, *std::move(array)));
  }
  return call(function, brought);
}

Result<std::string> to_text(const Array& array, TransferSite site) {
  ASSIGN_OR_RETURN(const HostArray host, array.to_host(site));
  const std::vector<double> values = to_doubles(host);
  const Dims& dims = host.shape().dims;
  std::string text = to_string(host.shape()) + " ";
  const std::function<void(size_t, int64_t)> write = [&](size_t dim, int64_t first) {
    if (dim == dims.size()) {
      text += element(host, values, first);
      return;
    }
    int64_t stride = 1;
    for (size_t inner = dim + 1; inner < dims.size(); ++inner) stride *= dims[inner];
    text += "[";
    for (int64_t i = 0; i < dims[dim]; ++i) {
      if (i > 0) text += ", ";
      if (i == kShown && dims[dim] > 2 * kShown) {
        text += "..., ";
        i = dims[dim] - kShown;
      }
      write(dim + 1, first + i * stride);
    }
    text += "]";
  };
  write(0, 0);
  return text;
}

}  // namespace tessera
