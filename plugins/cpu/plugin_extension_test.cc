// The extensions: handlers that programs call, and memory layouts.
#include "plugins/cpu/plugin_testing.h"
#include "xla/ffi/api/c_api.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"

namespace tessera::pjrt_cpu {
namespace {

using Floats = std::vector<float>;
using Lists = std::vector<std::vector<PJRT_Buffer*>>;

constexpr char kTwoOutputs[] =
    R"(module @two { func.func @main(%a: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<i32>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.constant dense<7> : tensor<i32> return %0, %1 : tensor<3x2xf32>, tensor<i32> } })";
constexpr char kCustomCall[] =
    R"(module @call { func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @NAME(%a) {api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32> } })";

class PluginExtensionTest : public ClientTest {};

template <typename Extension>
const Extension* find(PJRT_Extension_Type type) {
  for (const PJRT_Extension_Base* next = api().extension_start; next != nullptr;
       next = next->next) {
    if (next->type == type) return reinterpret_cast<const Extension*>(next);
  }
  return nullptr;
}

// A handler by the C API alone: says which version it speaks, and doubles three floats.
XLA_FFI_Error* double_three(XLA_FFI_CallFrame* frame) {
  for (XLA_FFI_Extension_Base* next = frame->extension_start; next != nullptr; next = next->next) {
    if (next->type != XLA_FFI_Extension_Metadata) continue;
    auto* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(next)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    return nullptr;
  }
  const auto* in =
      static_cast<const float*>(static_cast<XLA_FFI_Buffer*>(frame->args.args[0])->data);
  auto* out = static_cast<float*>(static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0])->data);
  for (int i = 0; i < 3; ++i) out[i] = 2 * in[i];
  return nullptr;
}

TEST_F(PluginExtensionTest, ARegisteredHandlerIsCalledByAProgramAndAnUnknownOneIsAnError) {
  start(1);
  const auto* ffi = find<PJRT_FFI_Extension>(PJRT_Extension_Type_FFI);
  ASSERT_NE(ffi, nullptr);
  const std::string target = "tessera_test_double";
  PJRT_FFI_Register_Handler_Args args{};
  args.struct_size = PJRT_FFI_Register_Handler_Args_STRUCT_SIZE;
  args.target_name = target.data();
  args.target_name_size = target.size();
  args.handler = reinterpret_cast<void*>(&double_three);
  args.platform_name = "CUDA";
  args.platform_name_size = 4;
  EXPECT_NE(outcome(ffi->register_handler(&args)).message.find("only 'Host'"), std::string::npos);
  args.platform_name = "Host";
  Outcome result = outcome(ffi->register_handler(&args));
  ASSERT_TRUE(result.ok()) << result.message;
  const auto program = [](const std::string& name) {
    std::string text = kCustomCall;
    return text.replace(text.find("NAME"), 4, name);
  };
  PJRT_LoadedExecutable* executable = compile(program(target));
  ASSERT_NE(executable, nullptr);
  PJRT_Buffer* a = put_f32({1, 2, 3});
  Lists results;
  result = execute(executable, {{a}}, 1, &results);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(get_f32(results[0][0]), (Floats{2, 4, 6}));
  destroy(results[0][0]);
  destroy(executable);
  result = compile(program("nobody_registered_this"), compile_options(), &executable);
  if (result.ok()) {
    result = execute(executable, {{a}}, 1, &results);
    destroy(executable);
  }
  EXPECT_FALSE(result.ok());
  EXPECT_NE(result.message.find("nobody_registered_this"), std::string::npos) << result.message;
  destroy(a);
}

TEST_F(PluginExtensionTest, TypesAreRegisteredAndUserDataBelongsToAContext) {
  const auto* ffi = find<PJRT_FFI_Extension>(PJRT_Extension_Type_FFI);
  ASSERT_NE(ffi, nullptr);
  PJRT_FFI_Type_Register_Args type{};
  type.struct_size = PJRT_FFI_Type_Register_Args_STRUCT_SIZE;
  type.type_name = "tessera_test_type";
  type.type_name_size = 17;
  ASSERT_TRUE(outcome(ffi->type_register(&type)).ok());
  EXPECT_NE(type.type_id, 0);
  auto context = ARGS(PJRT_ExecuteContext_Create);
  CALL(PJRT_ExecuteContext_Create, context);
  int data = 1;
  PJRT_FFI_UserData_Add_Args add{};
  add.struct_size = PJRT_FFI_UserData_Add_Args_STRUCT_SIZE;
  add.context = context.context;
  add.user_data = {type.type_id, &data};
  EXPECT_TRUE(outcome(ffi->user_data_add(&add)).ok());
  EXPECT_FALSE(outcome(ffi->user_data_add(&add)).ok());  // one datum a type
  auto destroy = ARGS(PJRT_ExecuteContext_Destroy);
  destroy.context = context.context;
  CALL(PJRT_ExecuteContext_Destroy, destroy);
}

TEST_F(PluginExtensionTest, LayoutsAreTold) {
  start(1);
  const auto* layouts = find<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts);
  ASSERT_NE(layouts, nullptr);
  const int64_t dims[] = {2, 3};
  auto args = ARGS(PJRT_Layouts_PJRT_Client_GetDefaultLayout);
  args.client = client_;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 2;
  ASSERT_TRUE(outcome(layouts->PJRT_Layouts_PJRT_Client_GetDefaultLayout(&args)).ok());
  auto serialize = ARGS(PJRT_Layouts_MemoryLayout_Serialize);
  serialize.layout = args.layout;
  ASSERT_TRUE(outcome(layouts->PJRT_Layouts_MemoryLayout_Serialize(&serialize)).ok());
  EXPECT_EQ(std::string(serialize.serialized_bytes, serialize.serialized_bytes_size), "{1,0}");
  serialize.serialized_layout_deleter(serialize.serialized_layout);
  auto destroy_layout = ARGS(PJRT_Layouts_MemoryLayout_Destroy);
  destroy_layout.layout = args.layout;
  EXPECT_TRUE(outcome(layouts->PJRT_Layouts_MemoryLayout_Destroy(&destroy_layout)).ok());
  PJRT_LoadedExecutable* loaded = compile(kTwoOutputs);
  PJRT_Executable* executable = executable_of(loaded);
  auto outputs = ARGS(PJRT_Layouts_PJRT_Executable_GetOutputLayouts);
  outputs.executable = executable;
  EXPECT_TRUE(outcome(layouts->PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&outputs)).ok());
  EXPECT_EQ(outputs.num_outputs, 2u);
  destroy_executable(executable);
  destroy(loaded);
}

}  // namespace
}  // namespace tessera::pjrt_cpu
