// Buffers: every element type, layouts, copies, views, deletion.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "plugins/cpu/plugin_testing.h"

namespace tessera::pjrt_cpu {
namespace {

class PluginBufferTest : public ClientTest {};

struct Type {
  PJRT_Buffer_Type type;
  const char* name;
  size_t bytes;  // of an element on the host
  int bits = 0;  // of a packed element, which the host keeps in one byte
};

constexpr Type kTypes[] = {
    {PJRT_Buffer_Type_PRED, "PRED", 1, 1},
    {PJRT_Buffer_Type_S2, "S2", 1, 2},
    {PJRT_Buffer_Type_U2, "U2", 1, 2},
    {PJRT_Buffer_Type_S4, "S4", 1, 4},
    {PJRT_Buffer_Type_U4, "U4", 1, 4},
    {PJRT_Buffer_Type_S8, "S8", 1},
    {PJRT_Buffer_Type_U8, "U8", 1},
    {PJRT_Buffer_Type_S16, "S16", 2},
    {PJRT_Buffer_Type_U16, "U16", 2},
    {PJRT_Buffer_Type_S32, "S32", 4},
    {PJRT_Buffer_Type_U32, "U32", 4},
    {PJRT_Buffer_Type_S64, "S64", 8},
    {PJRT_Buffer_Type_U64, "U64", 8},
    {PJRT_Buffer_Type_F16, "F16", 2},
    {PJRT_Buffer_Type_BF16, "BF16", 2},
    {PJRT_Buffer_Type_F32, "F32", 4},
    {PJRT_Buffer_Type_F64, "F64", 8},
    {PJRT_Buffer_Type_C64, "C64", 8},
    {PJRT_Buffer_Type_C128, "C128", 16},
    {PJRT_Buffer_Type_F4E2M1FN, "F4E2M1FN", 1, 4},
    {PJRT_Buffer_Type_F8E5M2, "F8E5M2", 1},
    {PJRT_Buffer_Type_F8E4M3, "F8E4M3", 1},
    {PJRT_Buffer_Type_F8E4M3FN, "F8E4M3FN", 1},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, "F8E4M3B11FNUZ", 1},
    {PJRT_Buffer_Type_F8E5M2FNUZ, "F8E5M2FNUZ", 1},
    {PJRT_Buffer_Type_F8E4M3FNUZ, "F8E4M3FNUZ", 1},
    {PJRT_Buffer_Type_F8E3M4, "F8E3M4", 1},
    {PJRT_Buffer_Type_F8E8M0FNU, "F8E8M0FNU", 1},
};

// Bit patterns that every type keeps: any bytes, but sub-byte types only their own bits, signed
// ones sign-extended.
std::vector<char> pattern(const Type& type, size_t elements) {
  std::vector<char> bytes(elements * type.bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    int value = static_cast<int>(i * 37 + 11);
    if (type.bits > 0) value &= (1 << type.bits) - 1;
    const bool is_signed = type.type == PJRT_Buffer_Type_S2 || type.type == PJRT_Buffer_Type_S4;
    if (is_signed && (value >> (type.bits - 1)) != 0) value -= 1 << type.bits;
    bytes[i] = static_cast<char>(value);
  }
  return bytes;
}

TEST_F(PluginBufferTest, EveryElementTypeComesBackBitForBit) {
  start(1);
  for (const Type& type : kTypes) {
    SCOPED_TRACE(type.name);
    const std::vector<char> bytes = pattern(type, 15);
    PJRT_Buffer* buffer = put(type.type, {3, 5}, bytes.data());
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(get(buffer), bytes);
    auto element = ARGS(PJRT_Buffer_ElementType);
    element.buffer = buffer;
    CALL(PJRT_Buffer_ElementType, element);
    EXPECT_EQ(element.type, type.type);
    auto dims = ARGS(PJRT_Buffer_Dimensions);
    dims.buffer = buffer;
    CALL(PJRT_Buffer_Dimensions, dims);
    EXPECT_EQ(std::vector<int64_t>(dims.dims, dims.dims + dims.num_dims),
              (std::vector<int64_t>{3, 5}));
    destroy(buffer);
  }
}

TEST_F(PluginBufferTest, FourBitTypesTakeHalfAByteOnTheDevice) {
  start(1);
  const std::vector<char> bytes(64, 1);
  PJRT_Buffer* buffer = put(PJRT_Buffer_Type_S4, {64}, bytes.data());
  auto size = ARGS(PJRT_Buffer_OnDeviceSizeInBytes);
  size.buffer = buffer;
  CALL(PJRT_Buffer_OnDeviceSizeInBytes, size);
  EXPECT_EQ(size.on_device_size_in_bytes, 32u);
  destroy(buffer);
}

TEST_F(PluginBufferTest, ScalarsAndEmptyArraysWork) {
  start(1);
  const float scalar = 2.5f;
  PJRT_Buffer* buffer = put(PJRT_Buffer_Type_F32, {}, &scalar);
  EXPECT_EQ(get_f32(buffer), std::vector<float>{2.5f});
  destroy(buffer);
  buffer = put(PJRT_Buffer_Type_F32, {4, 0}, nullptr);
  ASSERT_NE(buffer, nullptr);
  EXPECT_TRUE(get(buffer).empty());
  destroy(buffer);
}

TEST_F(PluginBufferTest, StridesOnTheWayInDescribeTheHostArray) {
  start(1);
  const std::vector<float> column_major = {0, 3, 1, 4, 2, 5};
  const std::vector<int64_t> dims = {2, 3}, strides = {4, 8}, backwards = {12, -4};
  auto args = ARGS(PJRT_Client_BufferFromHostBuffer);
  args.client = client_;
  args.data = column_major.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = 2;
  args.byte_strides = strides.data();
  args.num_byte_strides = 2;
  args.device = device();
  CALL(PJRT_Client_BufferFromHostBuffer, args);
  EXPECT_TRUE(await(args.done_with_host_buffer).ok());
  EXPECT_EQ(get_f32(args.buffer), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  destroy(args.buffer);
  const std::vector<float> row_major = {0, 1, 2, 3, 4, 5};
  args.data = row_major.data() + 2;  // each row read from its end
  args.byte_strides = backwards.data();
  CALL(PJRT_Client_BufferFromHostBuffer, args);
  EXPECT_TRUE(await(args.done_with_host_buffer).ok());
  EXPECT_EQ(get_f32(args.buffer), (std::vector<float>{2, 1, 0, 5, 4, 3}));
  destroy(args.buffer);
  args.num_byte_strides = 1;
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "num_byte_strides is 1");
}

TEST_F(PluginBufferTest, TheHostsLayoutOnTheWayOutIsTheCallers) {
  start(1);
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  PJRT_Buffer* buffer = put(PJRT_Buffer_Type_F32, {2, 3}, values.data());
  const std::vector<int64_t> column_major = {0, 1}, strides = {4, 8}, sparse = {4, 16};
  PJRT_Buffer_MemoryLayout layout{};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  std::vector<float> out(6);
  auto args = ARGS(PJRT_Buffer_ToHostBuffer);
  args.src = buffer;
  args.host_layout = &layout;
  args.dst = out.data();
  args.dst_size = 24;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = column_major.data();
  layout.tiled.minor_to_major_size = 2;
  CALL(PJRT_Buffer_ToHostBuffer, args);
  EXPECT_TRUE(await(args.event).ok());
  EXPECT_EQ(out, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  layout = {};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  layout.strides.byte_strides = strides.data();
  layout.strides.num_byte_strides = 2;
  std::fill(out.begin(), out.end(), 0.f);
  CALL(PJRT_Buffer_ToHostBuffer, args);
  EXPECT_TRUE(await(args.event).ok());
  EXPECT_EQ(out, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  layout.strides.byte_strides = sparse.data();
  CALL_FAILS(PJRT_Buffer_ToHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT, "dense");
  layout.struct_size = 8;
  CALL_FAILS(PJRT_Buffer_ToHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT, "struct_size");
  args.host_layout = nullptr;
  args.dst_size = 23;
  CALL_FAILS(PJRT_Buffer_ToHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT, "needs 24");
  destroy(buffer);
}

TEST_F(PluginBufferTest, BadArraysAreRefused) {
  start(1);
  const float value = 1;
  std::vector<int64_t> dims = {-1};
  auto args = ARGS(PJRT_Client_BufferFromHostBuffer);
  args.client = client_;
  args.data = &value;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = 1;
  args.device = device();
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "negative size -1");
  dims[0] = int64_t{1} << 62;
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT, "64 bits");
  dims[0] = 1;
  args.data = nullptr;
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "data is null");
  args.data = &value;
  args.dims = nullptr;
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "dims is null");
  args.dims = dims.data();
  args.type = static_cast<PJRT_Buffer_Type>(99);
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "element type 99");
  args.type = PJRT_Buffer_Type_TOKEN;
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT, "token");
  args.type = PJRT_Buffer_Type_F32;
  args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(7);
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "host_buffer_semantics 7");
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = nullptr;
  CALL_FAILS(PJRT_Client_BufferFromHostBuffer, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "neither a memory nor a device");
}

TEST_F(PluginBufferTest, ADeletedBufferSaysSo) {
  start(2);
  PJRT_Buffer* buffer = put_f32({1, 2, 3});
  EXPECT_FALSE(is_deleted(buffer));
  auto args = ARGS(PJRT_Buffer_Delete);
  args.buffer = buffer;
  CALL(PJRT_Buffer_Delete, args);
  CALL(PJRT_Buffer_Delete, args);  // twice is harmless
  EXPECT_TRUE(is_deleted(buffer));
  auto host = ARGS(PJRT_Buffer_ToHostBuffer);
  host.src = buffer;
  CALL_FAILS(PJRT_Buffer_ToHostBuffer, host, PJRT_Error_Code_INVALID_ARGUMENT,
             "deleted or donated");
  auto copy = ARGS(PJRT_Buffer_CopyToDevice);
  copy.buffer = buffer;
  copy.dst_device = device(1);
  CALL_FAILS(PJRT_Buffer_CopyToDevice, copy, PJRT_Error_Code_INVALID_ARGUMENT,
             "deleted or donated");
  auto pointer = ARGS(PJRT_Buffer_UnsafePointer);
  pointer.buffer = buffer;
  CALL_FAILS(PJRT_Buffer_UnsafePointer, pointer, PJRT_Error_Code_INVALID_ARGUMENT,
             "deleted or donated");
  auto ready = ARGS(PJRT_Buffer_ReadyEvent);
  ready.buffer = buffer;
  CALL(PJRT_Buffer_ReadyEvent, ready);
  EXPECT_FALSE(await(ready.event).ok());
  destroy(buffer);
}

TEST_F(PluginBufferTest, CopiesGoToAnotherDeviceAndToHostMemory) {
  start(2);
  PJRT_Buffer* buffer = put_f32({1, 2, 3});
  auto copy = ARGS(PJRT_Buffer_CopyToDevice);
  copy.buffer = buffer;
  copy.dst_device = device(1);
  CALL(PJRT_Buffer_CopyToDevice, copy);
  EXPECT_EQ(get_f32(copy.dst_buffer), (std::vector<float>{1, 2, 3}));
  auto where = ARGS(PJRT_Buffer_Device);
  where.buffer = copy.dst_buffer;
  CALL(PJRT_Buffer_Device, where);
  EXPECT_EQ(where.device, device(1));
  auto memories = ARGS(PJRT_Device_AddressableMemories);
  memories.device = device(0);
  CALL(PJRT_Device_AddressableMemories, memories);
  for (size_t i = 0; i < memories.num_memories; ++i) {
    auto kind = ARGS(PJRT_Memory_Kind);
    kind.memory = memories.memories[i];
    CALL(PJRT_Memory_Kind, kind);
    if (std::string_view(kind.kind, kind.kind_size) != "pinned_host") continue;
    auto to = ARGS(PJRT_Buffer_CopyToMemory);
    to.buffer = buffer;
    to.dst_memory = memories.memories[i];
    CALL(PJRT_Buffer_CopyToMemory, to);
    EXPECT_EQ(get_f32(to.dst_buffer), (std::vector<float>{1, 2, 3}));
    auto memory = ARGS(PJRT_Buffer_Memory);
    memory.buffer = to.dst_buffer;
    CALL(PJRT_Buffer_Memory, memory);
    EXPECT_EQ(memory.memory, memories.memories[i]);
    destroy(to.dst_buffer);
  }
  destroy(copy.dst_buffer);
  destroy(buffer);
}

TEST_F(PluginBufferTest, AViewReadsTheCallersMemoryAndTellsWhenItIsDone) {
  start(1);
  alignas(64) float memory[4] = {1, 2, 3, 4};
  std::atomic<int> deletions = 0;
  const int64_t dims[] = {4};
  auto args = ARGS(PJRT_Client_CreateViewOfDeviceBuffer);
  args.client = client_;
  args.device_buffer_ptr = memory;
  args.dims = dims;
  args.num_dims = 1;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = device();
  args.on_delete_callback = [](void*, void* count) { ++*static_cast<std::atomic<int>*>(count); };
  args.on_delete_callback_arg = &deletions;
  CALL(PJRT_Client_CreateViewOfDeviceBuffer, args);
  memory[0] = 9;
  EXPECT_EQ(get_f32(args.buffer), (std::vector<float>{9, 2, 3, 4}));
  auto pointer = ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer);
  pointer.buffer = args.buffer;
  CALL(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, pointer);
  EXPECT_EQ(pointer.device_memory_ptr, memory);
  EXPECT_EQ(deletions, 0);
  destroy(args.buffer);
  EXPECT_TRUE(holds_soon([&] { return deletions == 1; }));
}

TEST_F(PluginBufferTest, AnExternalReferenceKeepsTheMemoryAfterDeletion) {
  start(1);
  PJRT_Buffer* buffer = put_f32({1, 2, 3});
  auto pointer = ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer);
  pointer.buffer = buffer;
  CALL(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, pointer);
  auto increase = ARGS(PJRT_Buffer_IncreaseExternalReferenceCount);
  increase.buffer = buffer;
  CALL(PJRT_Buffer_IncreaseExternalReferenceCount, increase);
  auto remove = ARGS(PJRT_Buffer_Delete);
  remove.buffer = buffer;
  CALL(PJRT_Buffer_Delete, remove);
  EXPECT_EQ(static_cast<const float*>(pointer.device_memory_ptr)[2], 3.f);
  auto decrease = ARGS(PJRT_Buffer_DecreaseExternalReferenceCount);
  decrease.buffer = buffer;
  CALL(PJRT_Buffer_DecreaseExternalReferenceCount, decrease);
  CALL_FAILS(PJRT_Buffer_DecreaseExternalReferenceCount, decrease, PJRT_Error_Code_INVALID_ARGUMENT,
             "no external reference");
  destroy(buffer);
}

TEST_F(PluginBufferTest, RawCopiesTakeARangeAndRefuseOneOutside) {
  start(1);
  PJRT_Buffer* buffer = put_f32({1, 2, 3, 4});
  float out[2] = {};
  auto args = ARGS(PJRT_Buffer_CopyRawToHost);
  args.buffer = buffer;
  args.dst = out;
  args.offset = 4;
  args.transfer_size = 8;
  CALL(PJRT_Buffer_CopyRawToHost, args);
  EXPECT_TRUE(await(args.event).ok());
  EXPECT_EQ(out[0], 2.f);
  EXPECT_EQ(out[1], 3.f);
  for (auto [offset, size] :
       {std::pair<int64_t, int64_t>{12, 8}, {-4, 8}, {0, -1}, {1, INT64_MAX}}) {
    args.offset = offset;
    args.transfer_size = size;
    CALL_FAILS(PJRT_Buffer_CopyRawToHost, args, PJRT_Error_Code_INVALID_ARGUMENT,
               "outside the buffer of 16 bytes");
  }
  destroy(buffer);
}

}  // namespace
}  // namespace tessera::pjrt_cpu
