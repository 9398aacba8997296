#include "tessera/pjrt/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tessera/pjrt/testing.h"

namespace tessera::pjrt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kAdd = R"(
  module @add { func.func public @main(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.add %a, %b : tensor<2x2xf32>
    return %0 : tensor<2x2xf32> } })";

// The same, with the first argument given away.
constexpr std::string_view kDonatingAdd = R"(
  module @add { func.func public @main(%a: tensor<2x2xf32> {tf.aliasing_output = 0 : i32},
                                       %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.add %a, %b : tensor<2x2xf32>
    return %0 : tensor<2x2xf32> } })";

// Each of two devices holds one row; the sum over rows needs an all-reduce.
constexpr std::string_view kShardedSum = R"(
  module @sum { sdy.mesh @mesh = <["x"=2]>
    func.func public @main(%a: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
        -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
      return %0 : tensor<2xf32> } })";

HostArray floats(Dims dims, std::vector<float> values) {
  return HostArray::from<float>(DType::kF32, std::move(dims), values);
}

std::vector<float> values(const Buffer& buffer) {
  const auto host = buffer.to_host();
  CHECK_MSG(host.ok(), host.status().ToString());
  const auto span = host->as<float>();
  return {span.begin(), span.end()};
}

class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TESSERA_SKIP_WITHOUT_PLUGIN();
    const auto client = testing::test_client();
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *client;
  }
  Device device(int i) { return client_->devices()[i]; }
  Buffer put(const HostArray& array, int i = 0) {
    return std::move(client_->to_device(array, device(i))).value();
  }
  Executable compile(std::string_view text, std::vector<int64_t> ids) {
    auto executable = client_->compile(text, {.device_ids = std::move(ids)});
    CHECK_MSG(executable.ok(), executable.status().ToString());
    return *std::move(executable);
  }

  Client* client_ = nullptr;
};

TEST_F(ClientTest, PinsHostMemoryWhereThePluginKnowsHow) {
  std::vector<std::byte> memory(4096);
  const auto pinned = client_->pin(memory);
  if (!pinned.ok()) {
    EXPECT_EQ(pinned.status().code(), absl::StatusCode::kUnimplemented) << pinned.status();
    return;
  }
  EXPECT_NE(*pinned, nullptr);
  EXPECT_FALSE(client_->pin(memory).ok()) << "it is pinned already";
}

TEST_F(ClientTest, DescribesItsDevices) {
  EXPECT_EQ(client_->platform_name(), "cpu");
  ASSERT_EQ(client_->devices().size(), static_cast<size_t>(testing::kTestDevices));
  for (int i = 0; i < testing::kTestDevices; ++i) {
    EXPECT_EQ(device(i).id(), i);
    EXPECT_TRUE(device(i).is_addressable());
    EXPECT_EQ(device(i).process_index(), 0);
    EXPECT_FALSE(device(i).memories().empty());
  }
  EXPECT_TRUE(device(0).default_memory().ok());
  EXPECT_THAT(std::string(client_->device(99).status().message()),
              HasSubstr("no device has id 99; the ids are 0, 1, 2"));
}

TEST_F(ClientTest, CarriesEveryDTypeThereAndBack) {
  for (DType dtype : all_dtypes()) {
    HostArray array(Shape{dtype, {3, 5}});
    for (size_t i = 0; i < array.bytes().size(); ++i) {
      // Four-bit integers: a byte each, whose upper half follows the sign.
      const bool four_bits = dtype_bits(dtype) == 4;
      const int value = dtype == DType::kBool ? i % 2 : four_bits ? i % 8 : i * 37 % 251;
      array.bytes()[i] = static_cast<std::byte>(value);
    }
    const auto buffer = client_->to_device(array, device(0));
    ASSERT_TRUE(buffer.ok()) << dtype_name(dtype) << " " << buffer.status();
    EXPECT_EQ(*buffer->shape(), array.shape());
    const auto back = buffer->to_host();
    ASSERT_TRUE(back.ok()) << dtype_name(dtype) << " " << back.status();
    EXPECT_TRUE(std::ranges::equal(back->bytes(), array.bytes())) << dtype_name(dtype);
  }
}

TEST_F(ClientTest, CarriesArraysWithoutElementsAndScalars) {
  EXPECT_EQ(put(HostArray(Shape{DType::kF32, {0, 3}})).to_host()->shape().dims, (Dims{0, 3}));
  EXPECT_THAT(values(put(floats({}, {7}))), ElementsAre(7));
}

TEST_F(ClientTest, UploadsAPartOfAHostArray) {
  const HostArray whole = floats({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const HostView right_half{Shape{DType::kF32, {2, 2}}, whole.bytes().data() + 8, {16, 4}};
  const auto buffer = client_->to_device(right_half, device(1));
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_THAT(values(*buffer), ElementsAre(2, 3, 6, 7));
  EXPECT_EQ(buffer->device()->id(), 1);
}

TEST_F(ClientTest, KeepsASharedHostArrayAliveAsLongAsItIsRead) {
  auto array = std::make_shared<const HostArray>(floats({4}, {1, 2, 3, 4}));
  const std::weak_ptr<const HostArray> watch = array;
  auto buffer = std::make_unique<Buffer>(client_->to_device(std::move(array), device(0)).value());
  EXPECT_THAT(values(*buffer), ElementsAre(1, 2, 3, 4));
  buffer.reset();
  // The plugin's thread that copied the values out may hold on to the memory for a moment more.
  const absl::Time end = absl::Now() + absl::Seconds(30);
  while (!watch.expired() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(watch.expired());
}

TEST_F(ClientTest, CopiesBetweenDevices) {
  const Buffer there = put(floats({2}, {1, 2}), 0).copy_to(device(3)).value();
  EXPECT_EQ(there.device()->id(), 3);
  EXPECT_THAT(values(there), ElementsAre(1, 2));
  EXPECT_EQ(*there.on_device_bytes(), 8u);
}

TEST_F(ClientTest, RunsAProgramOnTheDeviceThatItIsCompiledFor) {
  const Executable add = compile(kAdd, {2});
  ASSERT_EQ(add.devices().size(), 1u);
  EXPECT_EQ(add.devices()[0].id(), 2);
  EXPECT_EQ(add.num_outputs(), 1u);
  EXPECT_EQ(add.output_shapes()->at(0), (Shape{DType::kF32, {2, 2}}));
  const Buffer a = put(floats({2, 2}, {1, 2, 3, 4}), 2),
               b = put(floats({2, 2}, {10, 20, 30, 40}), 2);
  const std::vector<std::vector<const Buffer*>> arguments = {{&a, &b}};
  const auto result = add.execute(arguments);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(values(result->outputs[0][0]), ElementsAre(11, 22, 33, 44));
  EXPECT_TRUE(result->done[0].await().ok());
  EXPECT_TRUE(result->done[0].is_ready());
}

TEST_F(ClientTest, PartitionsAProgramOverDevices) {
  const Executable sum = compile(kShardedSum, {1, 3});
  ASSERT_EQ(sum.devices().size(), 2u);
  const Buffer a = put(floats({1, 2}, {1, 2}), 1), b = put(floats({1, 2}, {10, 20}), 3);
  const std::vector<std::vector<const Buffer*>> arguments = {{&a}, {&b}};
  const auto result = sum.execute(arguments);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(values(result->outputs[0][0]), ElementsAre(11, 22));
  EXPECT_THAT(values(result->outputs[1][0]), ElementsAre(11, 22));
}

TEST_F(ClientTest, ADonatedArgumentIsGone) {
  const Executable add = compile(kDonatingAdd, {0});
  const Buffer a = put(floats({2, 2}, {1, 2, 3, 4})), b = put(floats({2, 2}, {1, 1, 1, 1}));
  const std::vector<std::vector<const Buffer*>> arguments = {{&a, &b}};
  EXPECT_THAT(values(add.execute(arguments)->outputs[0][0]), ElementsAre(2, 3, 4, 5));
  EXPECT_TRUE(a.is_deleted());
  EXPECT_FALSE(b.is_deleted());
  EXPECT_EQ(add.execute(arguments).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(add.memory_stats()->alias_bytes, 16);
}

TEST_F(ClientTest, AnArgumentThatIsToBeKeptIsNotDonated) {
  const Executable add = compile(kDonatingAdd, {0});
  const Buffer a = put(floats({2, 2}, {1, 2, 3, 4})), b = put(floats({2, 2}, {1, 1, 1, 1}));
  const std::vector<std::vector<const Buffer*>> arguments = {{&a, &b}};
  const auto result = add.execute(arguments, {.keep_arguments = {0}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(values(result->outputs[0][0]), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(values(a), ElementsAre(1, 2, 3, 4));
}

TEST_F(ClientTest, CallsBackWhenReady) {
  const Buffer a = put(floats({2, 2}, {1, 2, 3, 4})), b = put(floats({2, 2}, {1, 1, 1, 1}));
  const Executable add = compile(kAdd, {0});
  const std::vector<std::vector<const Buffer*>> arguments = {{&a, &b}};
  const auto result = add.execute(arguments);
  const Status status = testing::await_callback(result->done[0]);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(ClientTest, TellsWhatAProgramNeeds) {
  const Executable add = compile(kAdd, {0});
  EXPECT_EQ(add.name(), "add");
  const auto memory = add.memory_stats();
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->argument_bytes, 32);
  EXPECT_EQ(memory->output_bytes, 16);
  const auto cost = add.cost_analysis();
  // Not every plugin has it.
  if (cost.status().code() != absl::StatusCode::kUnimplemented) {
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(cost->at("flops"), 4);
  }
  const auto program = add.optimized_program();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_FALSE(program->code.empty());
  const auto fingerprint = add.fingerprint();
  ASSERT_TRUE(fingerprint.ok()) << fingerprint.status();
  EXPECT_EQ(*fingerprint, *compile(kAdd, {0}).fingerprint());
}

TEST_F(ClientTest, LoadsWhatItSerialized) {
  const auto bytes = compile(kAdd, {0}).serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto loaded = client_->deserialize(*bytes, {.device_ids = {0}});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Buffer a = put(floats({2, 2}, {1, 2, 3, 4})), b = put(floats({2, 2}, {1, 1, 1, 1}));
  const std::vector<std::vector<const Buffer*>> arguments = {{&a, &b}};
  EXPECT_THAT(values(loaded->execute(arguments)->outputs[0][0]), ElementsAre(2, 3, 4, 5));
}

TEST_F(ClientTest, ErrorsKeepTheirCodes) {
  EXPECT_FALSE(client_->compile("this is no module", {}).ok());
  EXPECT_EQ(client_->compile(kAdd, {.overrides = {{"xla_no_such_flag", true}}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const NamedValue unknown{"no_such_option_of_any_plugin", int64_t{1}};
  const auto client = Client::create(client_->plugin(), {&unknown, 1});
  if (!client.ok()) {  // plugins are free to ignore what they do not know
    EXPECT_THAT(std::string(client.status().message()), HasSubstr("no_such_option_of_any_plugin"));
  }
}

TEST_F(ClientTest, ArgumentsForTheWrongNumberOfDevicesAreRefused) {
  const Executable add = compile(kAdd, {0});
  EXPECT_THAT(std::string(add.execute({}).status().message()),
              HasSubstr("runs on 1 devices of this process, got arguments for 0"));
}

TEST_F(ClientTest, BuffersOutliveTheirClient) {
  std::vector<Buffer> buffers;
  {
    auto client = Client::create(client_->plugin());
    ASSERT_TRUE(client.ok()) << client.status();
    buffers.push_back(client->to_device(floats({2}, {5, 6}), client->devices()[0]).value());
  }
  EXPECT_THAT(values(buffers[0]), ElementsAre(5, 6));
}

}  // namespace
}  // namespace tessera::pjrt
