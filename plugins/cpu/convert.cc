// Conversions between the C API's plain data and XLA's types.
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {
namespace {

constexpr std::pair<PJRT_Buffer_Type, xla::PrimitiveType> kTypes[] = {
    {PJRT_Buffer_Type_INVALID, xla::PRIMITIVE_TYPE_INVALID},
    {PJRT_Buffer_Type_PRED, xla::PRED},
    {PJRT_Buffer_Type_S2, xla::S2},
    {PJRT_Buffer_Type_S4, xla::S4},
    {PJRT_Buffer_Type_S8, xla::S8},
    {PJRT_Buffer_Type_S16, xla::S16},
    {PJRT_Buffer_Type_S32, xla::S32},
    {PJRT_Buffer_Type_S64, xla::S64},
    {PJRT_Buffer_Type_U2, xla::U2},
    {PJRT_Buffer_Type_U4, xla::U4},
    {PJRT_Buffer_Type_U8, xla::U8},
    {PJRT_Buffer_Type_U16, xla::U16},
    {PJRT_Buffer_Type_U32, xla::U32},
    {PJRT_Buffer_Type_U64, xla::U64},
    {PJRT_Buffer_Type_F16, xla::F16},
    {PJRT_Buffer_Type_F32, xla::F32},
    {PJRT_Buffer_Type_F64, xla::F64},
    {PJRT_Buffer_Type_BF16, xla::BF16},
    {PJRT_Buffer_Type_C64, xla::C64},
    {PJRT_Buffer_Type_C128, xla::C128},
    {PJRT_Buffer_Type_F4E2M1FN, xla::F4E2M1FN},
    {PJRT_Buffer_Type_F8E5M2, xla::F8E5M2},
    {PJRT_Buffer_Type_F8E4M3, xla::F8E4M3},
    {PJRT_Buffer_Type_F8E4M3FN, xla::F8E4M3FN},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, xla::F8E4M3B11FNUZ},
    {PJRT_Buffer_Type_F8E5M2FNUZ, xla::F8E5M2FNUZ},
    {PJRT_Buffer_Type_F8E4M3FNUZ, xla::F8E4M3FNUZ},
    {PJRT_Buffer_Type_F8E3M4, xla::F8E3M4},
    {PJRT_Buffer_Type_F8E8M0FNU, xla::F8E8M0FNU},
    {PJRT_Buffer_Type_TOKEN, xla::TOKEN},
};

absl::StatusOr<xla::Layout> from_tiled(const PJRT_Buffer_MemoryLayout_Tiled& tiled,
                                       const xla::Shape& shape) {
  const size_t rank = shape.dimensions().size();
  if (tiled.num_tiles != 0)
    return absl::UnimplementedError("tiled memory layouts do not exist on this platform");
  if (tiled.minor_to_major_size != rank) {
    return invalid(absl::StrCat("layout has ", tiled.minor_to_major_size,
                                " dimensions, the array has ", rank));
  }
  if (rank > 0) TF_RETURN_IF_ERROR(require(tiled.minor_to_major, "layout.minor_to_major"));
  std::vector<bool> seen(rank, false);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim = tiled.minor_to_major[i];
    if (dim < 0 || dim >= static_cast<int64_t>(rank) || seen[dim]) {
      return invalid("layout.minor_to_major is not a permutation of the dimensions");
    }
    seen[dim] = true;
  }
  return xla::LayoutUtil::MakeLayout(absl::MakeConstSpan(tiled.minor_to_major, rank));
}

// Strides name a layout only when the array is dense under them.
absl::StatusOr<xla::Layout> from_strides(const PJRT_Buffer_MemoryLayout_Strides& strides,
                                         const xla::Shape& shape) {
  const size_t rank = shape.dimensions().size();
  if (strides.num_byte_strides != rank) {
    return invalid(absl::StrCat("layout has ", strides.num_byte_strides, " strides, the array has ",
                                rank, " dimensions"));
  }
  if (rank > 0) TF_RETURN_IF_ERROR(require(strides.byte_strides, "layout.byte_strides"));
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides.byte_strides[a] < strides.byte_strides[b];
  });
  int64_t dense = xla::ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type());
  for (int64_t dim : order) {
    const int64_t size = shape.dimensions(dim);
    if (size > 1 && strides.byte_strides[dim] != dense) {
      return invalid(absl::StrCat("layout strides are not those of a dense array: dimension ", dim,
                                  " has stride ", strides.byte_strides[dim], ", expected ", dense));
    }
    dense *= std::max<int64_t>(size, 1);
  }
  return xla::LayoutUtil::MakeLayout(order);
}

}  // namespace

absl::StatusOr<xla::PrimitiveType> to_xla_type(PJRT_Buffer_Type type) {
  for (const auto& [pjrt, xla_type] : kTypes) {
    if (pjrt == type && type != PJRT_Buffer_Type_INVALID) return xla_type;
  }
  return invalid(
      absl::StrCat("element type ", static_cast<int>(type), " is not known to this plugin"));
}

PJRT_Buffer_Type to_pjrt_type(xla::PrimitiveType type) {
  for (const auto& [pjrt, xla_type] : kTypes) {
    if (xla_type == type) return pjrt;
  }
  return PJRT_Buffer_Type_INVALID;
}

absl::StatusOr<xla::Shape> make_shape(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims) {
  TF_ASSIGN_OR_RETURN(const xla::PrimitiveType element, to_xla_type(type));
  if (element == xla::TOKEN) return invalid("a token has no dimensions or data");
  if (num_dims > 0) TF_RETURN_IF_ERROR(require(dims, "dims"));
  int64_t bytes = std::max<int64_t>(1, xla::ShapeUtil::ByteSizeOfPrimitiveType(element));
  for (size_t i = 0; i < num_dims; ++i) {
    if (dims[i] < 0) return invalid(absl::StrCat("dimension ", i, " has negative size ", dims[i]));
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(dims[i], 1), &bytes)) {
      return invalid("the array's size in bytes does not fit into 64 bits");
    }
  }
  return xla::ShapeUtil::MakeValidatedShape(element, absl::MakeConstSpan(dims, num_dims));
}

absl::StatusOr<std::optional<xla::Layout>> to_xla_layout(const PJRT_Buffer_MemoryLayout* layout,
                                                         const xla::Shape& shape) {
  if (layout == nullptr) return std::optional<xla::Layout>();
  TF_RETURN_IF_ERROR(check_struct_size("PJRT_Buffer_MemoryLayout",
                                       PJRT_Buffer_MemoryLayout_STRUCT_SIZE, layout->struct_size));
  absl::StatusOr<xla::Layout> converted =
      invalid(absl::StrCat("layout type ", static_cast<int>(layout->type), " is unknown"));
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled)
    converted = from_tiled(layout->tiled, shape);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides)
    converted = from_strides(layout->strides, shape);
  TF_RETURN_IF_ERROR(converted.status());
  return std::optional<xla::Layout>(*std::move(converted));
}

void NamedValues::add(std::string_view name, const xla::PjRtValueType& value) {
  PJRT_NamedValue out{};
  out.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  const std::string& kept = strings_.emplace_back(name);
  out.name = kept.data();
  out.name_size = kept.size();
  out.value_size = 1;
  if (const auto* text = std::get_if<std::string>(&value)) {
    const std::string& kept_text = strings_.emplace_back(*text);
    out.type = PJRT_NamedValue_kString;
    out.string_value = kept_text.data();
    out.value_size = kept_text.size();
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    out.type = PJRT_NamedValue_kBool;
    out.bool_value = *flag;
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    out.type = PJRT_NamedValue_kInt64;
    out.int64_value = *number;
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    const std::vector<int64_t>& kept_list = lists_.emplace_back(*list);
    out.type = PJRT_NamedValue_kInt64List;
    out.int64_array_value = kept_list.data();
    out.value_size = kept_list.size();
  } else {
    out.type = PJRT_NamedValue_kFloat;
    out.float_value = std::get<float>(value);
  }
  values_.push_back(out);
}

}  // namespace tessera::pjrt_cpu
