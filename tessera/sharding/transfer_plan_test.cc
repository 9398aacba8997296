#include "tessera/sharding/transfer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "tessera/base/strings.h"
#include "tessera/sharding/testing.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = TransferRound::Kind;

constexpr int64_t kDevices[] = {0, 1, 2, 3, 4, 5, 6, 7};

// Devices 2p and 2p + 1 are of process p.
int64_t process_of(int64_t device) { return device / 2; }

std::vector<Holding> holdings_of(std::vector<int64_t> ids, std::vector<MeshAxis> axes,
                                 PartitionSpec spec, const Dims& dims) {
  const Mesh mesh = *Mesh::create(std::move(axes), std::move(ids));
  return holdings(*NamedSharding::create(mesh, std::move(spec)), dims);
}

// Carries the plan out on tensors whose elements are their own numbers, and checks each rule that
// the header states.
class Simulation {
 public:
  Simulation(const TransferPlan& plan, const Dims& dims, std::span<const Holding> from,
             std::span<const Holding> to)
      : plan_(plan), whole_(Shape{DType::kS64, dims}) {
    auto elements = whole_.as<int64_t>();
    std::iota(elements.begin(), elements.end(), 1);
    for (const Holding& one : from) held_.emplace(one.device_id, slice(whole_, one.box));
    for (const Holding& one : to) {
      got_.emplace(one.device_id, HostArray(Shape{DType::kS64, one.box.dims}));
      wanted_.emplace(one.device_id, slice(whole_, one.box));
    }
  }

  void run() {
    for (const TransferRound& round : plan_.rounds) run(round);
    for (const auto& [id, wanted] : wanted_)
      EXPECT_TRUE(std::ranges::equal(got_.at(id).bytes(), wanted.bytes())) << "device " << id;
  }

 private:
  void run(const TransferRound& round) {
    ASSERT_FALSE(round.pieces.empty());
    std::set<int64_t> sources, destinations;
    const auto before = got_;  // what is passed on was there before the round
    for (const TransferPiece& piece : round.pieces) {
      EXPECT_TRUE(sources.insert(piece.source).second) << "sends twice in a round";
      EXPECT_TRUE(destinations.insert(piece.destination).second) << "gets twice in a round";
      EXPECT_EQ(piece.source == piece.destination, round.kind == Kind::kWithin);
      if (round.kind == Kind::kRelayed) {
        EXPECT_EQ(plan_.process_of[piece.source], plan_.process_of[piece.destination]);
      }
      const auto& all = round.kind == Kind::kRelayed ? before : held_;
      const HostArray part =
          slice(all.at(plan_.device_ids[piece.source]), {piece.source_start, round.dims});
      for (const int64_t element : part.as<int64_t>()) EXPECT_NE(element, 0) << "not there yet";
      paste(part, {piece.destination_start, round.dims},
            got_.at(plan_.device_ids[piece.destination]));
    }
  }

  const TransferPlan& plan_;
  HostArray whole_;
  std::map<int64_t, HostArray> held_, got_, wanted_;
};

// The least that has to come to a process from others: what its devices shall hold, once, less what
// they hold.
int64_t least_to(int64_t process, const Dims& dims, std::span<const Holding> from,
                 std::span<const Holding> to) {
  HostArray needed(Shape{DType::kU8, dims});
  const auto mark = [&](std::span<const Holding> list, std::byte value) {
    for (const Holding& one : list) {
      if (process_of(one.device_id) != process) continue;
      HostArray part(Shape{DType::kU8, one.box.dims});
      std::ranges::fill(part.bytes(), value);
      paste(part, one.box, needed);
    }
  };
  mark(to, std::byte{1});
  mark(from, std::byte{0});
  return std::ranges::count(needed.bytes(), std::byte{1});
}

TEST(TransferPlan, BringsEveryPartOfRandomLayoutsWithTheLeastTraffic) {
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const Dims dims = testing::random_dims(random);
    const NamedSharding a = testing::random_sharding(random, kDevices, dims);
    const NamedSharding b = testing::random_sharding(random, kDevices, dims);
    SCOPED_TRACE(
        str_cat(to_string(Shape{DType::kS64, dims}), " ", to_string(a), " to ", to_string(b)));
    const auto from = holdings(a, dims), to = holdings(b, dims);
    const auto plan = plan_transfer(from, to, process_of);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Simulation(*plan, dims, from, to).run();
    int64_t least = 0, sent = 0;
    for (int64_t process = 0; process < 4; ++process) {
      least += least_to(process, dims, from, to);
      sent += plan->elements_to_other_processes(process);
    }
    EXPECT_EQ(sent, least);
  }
}

TEST(TransferPlan, OfEqualLayoutsOnOtherDevicesIsOneRound) {
  const auto from = holdings_of({0, 1, 2, 3}, {{"x", 4}}, {{{"x"}}}, {8, 2});
  const auto to = holdings_of({4, 5, 6, 7}, {{"x", 4}}, {{{"x"}}}, {8, 2});
  const auto plan = *plan_transfer(from, to, process_of);
  ASSERT_EQ(plan.rounds.size(), 1u);
  EXPECT_EQ(plan.rounds[0].kind, Kind::kFirst);
  EXPECT_THAT(plan.rounds[0].dims, ElementsAre(2, 2));
  EXPECT_THAT(plan.elements_sent(), ElementsAre(4, 4, 4, 4, 0, 0, 0, 0));
}

TEST(TransferPlan, SharesTheSendingAmongReplicas) {
  // Four devices hold all; four of other processes, each a process of its own, want all.
  const auto apart = [](int64_t device) { return device; };
  const auto from = holdings_of({0, 1, 2, 3}, {{"x", 4}}, {}, {6});
  const auto to = holdings_of({4, 5, 6, 7}, {{"x", 4}}, {}, {6});
  const auto plan = *plan_transfer(from, to, apart);
  EXPECT_THAT(plan.elements_sent(), ElementsAre(6, 6, 6, 6, 0, 0, 0, 0));
  EXPECT_EQ(plan.rounds.size(), 1u);
}

TEST(TransferPlan, BringsAPartOnceAProcessAndPassesItOn) {
  const auto from = holdings_of({0, 1}, {{"x", 2}}, {{{"x"}}}, {8});
  const auto to = holdings_of({2, 3}, {{"x", 2}}, {}, {8});
  const auto plan = *plan_transfer(from, to, process_of);
  EXPECT_EQ(plan.elements_to_other_processes(0), 8);
  EXPECT_THAT(plan.elements_sent(), ElementsAre(4, 4, 4, 4));  // each passes on what it got
}

TEST(TransferPlan, TakesWhatTheDeviceAndThenTheProcessHas) {
  const auto from = holdings_of({0, 2}, {{"x", 2}}, {}, {8});
  const auto to = holdings_of({0, 1}, {{"x", 2}}, {}, {8});
  const auto plan = *plan_transfer(from, to, process_of);
  EXPECT_THAT(plan.elements_sent(), ElementsAre(8, 0, 0));
  EXPECT_EQ(plan.elements_to_other_processes(1), 0);
}

TEST(TransferPlan, IsEmptyWithoutElements) {
  const auto from = holdings_of({0, 1}, {{"x", 2}}, {{{"x"}}}, {0, 3});
  const auto to = holdings_of({2}, {}, {}, {0, 3});
  EXPECT_TRUE(plan_transfer(from, to, process_of)->rounds.empty());
}

TEST(TransferPlan, NamesWhatIsWrong) {
  const Box half{{0}, {2}}, other{{2}, {2}}, whole{{0}, {4}};
  const auto error = [](std::vector<Holding> from, std::vector<Holding> to) {
    return std::string(plan_transfer(from, to, process_of).status().message());
  };
  EXPECT_THAT(error({{0, half}}, {{1, whole}}),
              HasSubstr("no device holds all of part [0:4]: of 4 elements 2 are there"));
  EXPECT_THAT(error({{3, half}, {3, other}}, {{1, whole}}), HasSubstr("device 3 is twice"));
  EXPECT_THAT(error({{3, half}, {4, whole}}, {{1, whole}}),
              HasSubstr("devices 3 and 4 to take from hold parts of different sizes"));
  EXPECT_THAT(error({}, {{1, whole}}), HasSubstr("no devices to take from"));
}

TEST(ColorEdges, TakesAsManyColorsAsTheBusiestVertexHasEdges) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::pair<int64_t, int64_t>> edges(random() % 60);
    std::map<int64_t, int64_t> out, in;
    int64_t most = 0;
    for (auto& [source, destination] : edges) {
      source = random() % 9, destination = random() % 7;
      most = std::max({most, ++out[source], ++in[destination]});
    }
    const auto colors = color_edges(edges);
    std::set<std::pair<int64_t, int64_t>> at_source, at_destination;
    for (size_t e = 0; e < edges.size(); ++e) {
      EXPECT_GE(colors[e], 0);
      EXPECT_LT(colors[e], most);
      EXPECT_TRUE(at_source.insert({edges[e].first, colors[e]}).second);
      EXPECT_TRUE(at_destination.insert({edges[e].second, colors[e]}).second);
    }
  }
}

}  // namespace
}  // namespace tessera
