#include "tessera/coord/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tessera/coord/server.h"

namespace tessera::coord {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Arrays = Exchange::Arrays;

// Runs `body` as each of `processes` processes, in threads, with a coordinator; returns what each
// of them gave.
template <typename Result>
std::vector<Result> on_processes(int processes,
                                 const std::function<Result(Client& client, int process)>& body) {
  PosixFileSystem files;
  RealClock clock;
  const auto server = *Server::start({.processes = processes}, files, clock);
  const auto run = [&](int process) {
    const auto client = *Client::connect({.coordinator = str_cat("127.0.0.1:", server->port()),
                                          .process = process,
                                          .processes = processes},
                                         clock);
    Result result = body(*client, process);
    CHECK_MSG(client->shutdown(absl::Seconds(60)).ok(), "shutdown");
    return result;
  };
  std::vector<std::future<Result>> runs;
  for (int process = 0; process < processes; ++process)
    runs.push_back(std::async(std::launch::async, run, process));
  std::vector<Result> results;
  for (auto& future : runs) results.push_back(future.get());
  return results;
}

Arrays leaves(int process) {
  Arrays values;
  const std::vector<uint8_t> bytes = {static_cast<uint8_t>(process), 200};
  CHECK(values.add("bytes", HostArray::from<uint8_t>(DType::kU8, {2}, bytes)).ok());
  const std::vector<uint8_t> flags = {static_cast<uint8_t>(process % 2)};
  CHECK(values.add("flag", HostArray::from<uint8_t>(DType::kBool, {1}, flags)).ok());
  CHECK(
      values.add("scalar", from_doubles(Shape{DType::kF32, {}}, std::vector<double>{0.5 + process}))
          .ok());
  return values;
}

std::vector<double> doubles(const Arrays& values, const char* path) {
  return to_doubles(values.at(path));
}

class Spec10Exchange : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Processes, Spec10Exchange, ::testing::Values(1, 2, 4));

TEST_P(Spec10Exchange, BroadcastsOneProcesssValuesToAll) {
  const int source = GetParam() - 1;
  const auto results = on_processes<Result<Arrays>>(GetParam(), [&](Client& client, int process) {
    return Exchange(client).broadcast(leaves(process), source);
  });
  for (const auto& got : results) {
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_THAT(doubles(*got, "bytes"), ElementsAre(source, 200));
    EXPECT_THAT(doubles(*got, "flag"), ElementsAre(source % 2));
    EXPECT_EQ(got->at("flag").shape().dtype, DType::kBool);
    EXPECT_THAT(doubles(*got, "scalar"), ElementsAre(0.5 + source));
  }
}

TEST_P(Spec10Exchange, StacksAndConcatenates) {
  struct Both {
    Result<Arrays> stacked, joined;
  };
  const auto results = on_processes<Both>(GetParam(), [&](Client& client, int process) {
    Exchange exchange(client);
    return Both{exchange.stack(leaves(process)), exchange.concatenate(leaves(process))};
  });
  std::vector<double> bytes, scalars;
  for (int process = 0; process < GetParam(); ++process) {
    bytes.insert(bytes.end(), {double(process), 200});
    scalars.push_back(0.5 + process);
  }
  for (const Both& got : results) {
    ASSERT_TRUE(got.stacked.ok()) << got.stacked.status();
    ASSERT_TRUE(got.joined.ok()) << got.joined.status();
    EXPECT_EQ(got.stacked->at("bytes").shape().dims, (Dims{GetParam(), 2}));
    EXPECT_EQ(got.joined->at("bytes").shape().dims, (Dims{2 * GetParam()}));
    EXPECT_EQ(doubles(*got.stacked, "bytes"), bytes);
    EXPECT_EQ(doubles(*got.joined, "bytes"), bytes);
    EXPECT_EQ(doubles(*got.joined, "scalar"), scalars);  // scalars always stack
    EXPECT_EQ(got.joined->at("scalar").shape().dims, (Dims{GetParam()}));
  }
}

TEST_P(Spec10Exchange, ComparesValuesBitByBit) {
  const auto results = on_processes<std::vector<Status>>(
      GetParam(), [&](Client& client, int process) -> std::vector<Status> {
        Exchange exchange(client);
        Status same = exchange.require_equal(leaves(7), "seeds");
        Status different = exchange.require_equal(leaves(process), "seeds");
        return {same, different, exchange.sync("after")};  // and goes on afterwards
      });
  for (const auto& got : results) {
    EXPECT_TRUE(got[0].ok()) << got[0];
    EXPECT_TRUE(got[2].ok()) << got[2];
    if (GetParam() == 1) continue;
    EXPECT_THAT(got[1].message(), AllOf(HasSubstr("seeds: bytes"), HasSubstr("processes 0 and 1"),
                                        HasSubstr("element 0 is 0 and 1")));
  }
}

TEST(Exchange, Spec10AnotherNameIsAnErrorOnAll) {
  const auto results = on_processes<Status>(3, [](Client& client, int process) {
    return Exchange(client).sync(process == 1 ? "epoch" : "step");
  });
  for (const Status& status : results) {
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("sync 'epoch' on 1"), HasSubstr("sync 'step' on 0, 2")));
  }
}

TEST(Exchange, OtherCallsAndLayoutsAreErrorsOnAll) {
  const auto calls = on_processes<Status>(2, [](Client& client, int process) {
    Exchange exchange(client);
    return process == 0 ? exchange.sync("x") : exchange.broadcast(leaves(0)).status();
  });
  for (const Status& status : calls)
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("sync 'x' on 0"), HasSubstr("broadcast from 0 on 1")));
  const auto shapes = on_processes<Status>(2, [](Client& client, int process) {
    return Exchange(client).broadcast(HostArray(Shape{DType::kF32, {2 + process}})).status();
  });
  for (const Status& status : shapes)
    EXPECT_THAT(status.message(), AllOf(HasSubstr("f32[2]"), HasSubstr("f32[3]")));
}

TEST(Exchange, WhoDoesNotComeIsNamed) {
  const auto results = on_processes<Status>(3, [](Client& client, int process) {
    if (process == 2) {
      // Long enough for the others' timeout; nobody leaves before.
      return client.get("done", absl::Seconds(60)).status();
    }
    Exchange exchange(client, {.timeout = absl::Milliseconds(200)});
    const Status status = exchange.sync("step");
    if (process == 0) CHECK(client.insert("done", "yes").ok());
    return status;
  });
  EXPECT_EQ(results[0].code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(results[0].message(), AllOf(HasSubstr("sync 'step'"), HasSubstr("2")));
}

TEST(Exchange, SomeOfTheProcessesMayExchange) {
  const auto results = on_processes<Result<std::vector<Arrays>>>(
      3, [](Client& client, int process) -> Result<std::vector<Arrays>> {
        if (process == 1) return std::vector<Arrays>();
        return Exchange(client, {.name = "ends", .processes = {2, 0}}).gather(leaves(process));
      });
  for (int process : {0, 2}) {
    ASSERT_TRUE(results[process].ok()) << results[process].status();
    ASSERT_EQ(results[process]->size(), 2u);
    EXPECT_THAT(doubles((*results[process])[1], "bytes"), ElementsAre(2, 200));
  }
}

TEST(Exchange, GathersToOneAndLeavesNothingBehind) {
  static constexpr int kRounds = 20;
  const auto results =
      on_processes<Result<size_t>>(2, [](Client& client, int process) -> Result<size_t> {
        Exchange exchange(client);
        size_t got = 0;
        for (int round = 0; round < kRounds; ++round) {
          ASSIGN_OR_RETURN(const auto all, exchange.gather_to(leaves(process), 1));
          got += all.size();
        }
        RETURN_IF_ERROR(exchange.sync("end"));
        ASSIGN_OR_RETURN(const auto keys, client.list("exchange/"));
        EXPECT_LT(keys.size(), 20u) << "keys of " << kRounds << " rounds are still there";
        return got;
      });
  EXPECT_EQ(*results[0], 0u);
  EXPECT_EQ(*results[1], 2u * kRounds);
}

TEST(Exchange, HandsEveryonesTextToAll) {
  using Texts = std::map<int64_t, std::string>;
  const auto results = on_processes<Texts>(3, [](Client& client, int process) -> Texts {
    Exchange exchange(client, {.processes = {0, 2}});
    if (process == 1) return {};
    return *exchange.gather_texts(process == 0 ? "" : "line\nof 2");
  });
  const Texts all = {{0, ""}, {2, "line\nof 2"}};
  EXPECT_EQ(results[0], all);
  EXPECT_EQ(results[2], all);
}

TEST(Exchange, LargeValuesGoInParts) {
  const auto results = on_processes<Result<HostArray>>(2, [](Client& client, int process) {
    HostArray large(Shape{DType::kF32, {5 << 20}});  // 20 MiB
    if (process == 0) {
      for (size_t i = 0; i < large.as<float>().size(); ++i) large.as<float>()[i] = float(i);
    }
    return Exchange(client).broadcast(large);
  });
  for (const auto& got : results) {
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->as<float>()[(5 << 20) - 1], float((5 << 20) - 1));
  }
}

}  // namespace
}  // namespace tessera::coord
