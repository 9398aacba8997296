// Buffers that come to be in other ways than from a whole host array, memory stats, events.
#include "plugins/cpu/plugin_testing.h"

namespace tessera::pjrt_cpu {
namespace {

class PluginTransferTest : public ClientTest {};

TEST_F(PluginTransferTest, AnErrorBufferCarriesItsError) {
  start(1);
  const int64_t dims[] = {2};
  auto memory = ARGS(PJRT_Device_DefaultMemory);
  memory.device = device();
  CALL(PJRT_Device_DefaultMemory, memory);
  auto args = ARGS(PJRT_Client_CreateErrorBuffer);
  args.client = client_;
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = "the disk is gone";
  args.error_message_size = 16;
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = memory.memory;
  CALL(PJRT_Client_CreateErrorBuffer, args);
  auto ready = ARGS(PJRT_Buffer_ReadyEvent);
  ready.buffer = args.buffer;
  CALL(PJRT_Buffer_ReadyEvent, ready);
  const Outcome result = await(ready.event);
  EXPECT_EQ(result.code, PJRT_Error_Code_DATA_LOSS);
  EXPECT_NE(result.message.find("the disk is gone"), std::string::npos);
  destroy(args.buffer);
}

TEST_F(PluginTransferTest, AsynchronousTransfersFillBuffersInPieces) {
  start(1);
  const int64_t dims[] = {4};
  PJRT_ShapeSpec specs[2] = {};
  for (PJRT_ShapeSpec& spec : specs) {
    spec.struct_size = PJRT_ShapeSpec_STRUCT_SIZE;
    spec.dims = dims;
    spec.num_dims = 1;
    spec.element_type = PJRT_Buffer_Type_F32;
  }
  auto memory = ARGS(PJRT_Device_DefaultMemory);
  memory.device = device();
  CALL(PJRT_Device_DefaultMemory, memory);
  auto create = ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice);
  create.client = client_;
  create.shape_specs = specs;
  create.num_shape_specs = 2;
  create.memory = memory.memory;
  CALL(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
  auto retrieve = ARGS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer);
  retrieve.transfer_manager = create.transfer_manager;
  CALL(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
  const float values[] = {1, 2, 3, 4};
  auto data = ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferData);
  data.transfer_manager = create.transfer_manager;
  for (int half = 0; half < 2; ++half) {
    data.data = values + 2 * half;
    data.offset = 8 * half;
    data.transfer_size = 8;
    data.is_last_transfer = half == 1;
    CALL(PJRT_AsyncHostToDeviceTransferManager_TransferData, data);
    EXPECT_TRUE(await(data.done_with_h2d_transfer).ok());
  }
  EXPECT_EQ(get_f32(retrieve.buffer_out), (std::vector<float>{1, 2, 3, 4}));
  CALL_FAILS(PJRT_AsyncHostToDeviceTransferManager_TransferData, data,
             PJRT_Error_Code_FAILED_PRECONDITION, "complete");
  data.buffer_index = 2;
  CALL_FAILS(PJRT_AsyncHostToDeviceTransferManager_TransferData, data,
             PJRT_Error_Code_INVALID_ARGUMENT, "2 buffers");
  data.buffer_index = 1;
  data.offset = 12;
  CALL_FAILS(PJRT_AsyncHostToDeviceTransferManager_TransferData, data,
             PJRT_Error_Code_INVALID_ARGUMENT, "outside buffer 1");
  auto error = ARGS(PJRT_AsyncHostToDeviceTransferManager_SetBufferError);
  error.transfer_manager = create.transfer_manager;
  error.buffer_index = 1;
  error.error_code = PJRT_Error_Code_CANCELLED;
  CALL(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error);
  CALL_FAILS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve,
             PJRT_Error_Code_FAILED_PRECONDITION, "retrieved");
  destroy(retrieve.buffer_out);
  auto done = ARGS(PJRT_AsyncHostToDeviceTransferManager_Destroy);
  done.transfer_manager = create.transfer_manager;
  CALL(PJRT_AsyncHostToDeviceTransferManager_Destroy, done);
}

TEST_F(PluginTransferTest, MemoryStatsFollowTheBuffersAndTheLimitHolds) {
  start(1, 64 << 20);
  const auto in_use = [&] {
    auto args = ARGS(PJRT_Device_MemoryStats);
    args.device = device();
    EXPECT_TRUE(outcome(api().PJRT_Device_MemoryStats(&args)).ok());
    EXPECT_TRUE(args.bytes_limit_is_set);
    EXPECT_EQ(args.bytes_limit, 64 << 20);
    EXPECT_GE(args.peak_bytes_in_use, args.bytes_in_use);
    EXPECT_GE(args.pool_bytes, args.bytes_in_use);
    return args.bytes_in_use;
  };
  const int64_t before = in_use();
  const std::vector<float> values(8 << 20, 1.f);  // 32 MiB
  PJRT_Buffer* buffer = put_f32(values);
  EXPECT_GE(in_use(), before + (32 << 20));
  const int64_t dims[] = {10 << 20};
  auto args = ARGS(PJRT_Client_CreateUninitializedBuffer);
  args.client = client_;
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.device = device();
  CALL_FAILS(PJRT_Client_CreateUninitializedBuffer, args, PJRT_Error_Code_RESOURCE_EXHAUSTED,
             "memory_limit_bytes");
  destroy(buffer);
  EXPECT_TRUE(holds_soon([&] { return in_use() == before; }));
  CALL(PJRT_Client_CreateUninitializedBuffer, args);
  destroy(args.buffer);
}

TEST(PluginEventTest, AnEventCanBeSetOnceAndTellsEveryone) {
  auto create = ARGS(PJRT_Event_Create);
  CALL(PJRT_Event_Create, create);
  auto ready = ARGS(PJRT_Event_IsReady);
  ready.event = create.event;
  CALL(PJRT_Event_IsReady, ready);
  EXPECT_FALSE(ready.is_ready);
  auto error = ARGS(PJRT_Event_Error);
  error.event = create.event;
  CALL_FAILS(PJRT_Event_Error, error, PJRT_Error_Code_FAILED_PRECONDITION, "not ready");
  Outcome heard;
  auto on_ready = ARGS(PJRT_Event_OnReady);
  on_ready.event = create.event;
  CALL_FAILS(PJRT_Event_OnReady, on_ready, PJRT_Error_Code_INVALID_ARGUMENT, "callback is null");
  on_ready.callback = [](PJRT_Error* error, void* heard) {
    *static_cast<Outcome*>(heard) = outcome(error);
  };
  on_ready.user_arg = &heard;
  CALL(PJRT_Event_OnReady, on_ready);
  auto set = ARGS(PJRT_Event_Set);
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = "stop";
  set.error_message_size = 4;
  CALL(PJRT_Event_Set, set);
  EXPECT_EQ(heard.code, PJRT_Error_Code_ABORTED);
  CALL_FAILS(PJRT_Event_Error, error, PJRT_Error_Code_ABORTED, "stop");
  CALL_FAILS(PJRT_Event_Set, set, PJRT_Error_Code_FAILED_PRECONDITION, "set already");
  auto destroy = ARGS(PJRT_Event_Destroy);
  destroy.event = create.event;
  CALL(PJRT_Event_Destroy, destroy);
}

}  // namespace
}  // namespace tessera::pjrt_cpu
