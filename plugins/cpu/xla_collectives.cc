// XLA's interface to collectives, over the communicators of collectives/.
#include "plugins/cpu/cross_process.h"

namespace tessera::pjrt_cpu {
namespace {

using Address = stream_executor::DeviceAddressBase;

absl::StatusOr<Element> to_element(xla::PrimitiveType type) {
  switch (type) {
    case xla::PRED:
      return Element::kPred;
    case xla::S8:
      return Element::kS8;
    case xla::S16:
      return Element::kS16;
    case xla::S32:
      return Element::kS32;
    case xla::S64:
      return Element::kS64;
    case xla::U8:
      return Element::kU8;
    case xla::U16:
      return Element::kU16;
    case xla::U32:
      return Element::kU32;
    case xla::U64:
      return Element::kU64;
    case xla::F16:
      return Element::kF16;
    case xla::BF16:
      return Element::kBF16;
    case xla::F32:
      return Element::kF32;
    case xla::F64:
      return Element::kF64;
    case xla::C64:
      return Element::kC64;
    case xla::C128:
      return Element::kC128;
    default:
      return absl::UnimplementedError(
          absl::StrCat("element type ", xla::PrimitiveType_Name(type), " cannot be reduced"));
  }
}

// XLA says and and or of truth values as min and max.
Reduction to_reduction(xla::ReductionKind kind) {
  switch (kind) {
    case xla::ReductionKind::SUM:
      return Reduction::kSum;
    case xla::ReductionKind::PRODUCT:
      return Reduction::kProduct;
    case xla::ReductionKind::MIN:
      return Reduction::kMin;
    case xla::ReductionKind::MAX:
      return Reduction::kMax;
  }
  return Reduction::kSum;
}

size_t bytes_of(xla::PrimitiveType type, size_t count) {
  return count * xla::ShapeUtil::ByteSizeOfPrimitiveType(type);
}

/// One device's place among those of a clique. XLA keeps it for as long as the process lives, and
/// calls it in threads of its own, one for each device.
class DeviceCommunicator : public xla::Communicator {
 public:
  DeviceCommunicator(std::weak_ptr<Launches> launches, std::vector<int64_t> devices, int rank)
      : launches_(std::move(launches)), devices_(std::move(devices)), rank_(rank) {
    for (const int64_t device : devices_)
      processes_.push_back(xla::UnpackCpuProcessIndex(xla::PjRtGlobalDeviceId(device)));
  }

  xla::Future<> AllReduce(Address send, Address receive, xla::PrimitiveType type, size_t count,
                          xla::ReductionKind kind, const Executor& executor) override {
    return reduce("all-reduce", type, executor, [=, this](auto& to, auto& operation, Element e) {
      to.all_reduce(operation, rank_, send.opaque(), receive.opaque(), e, count,
                    to_reduction(kind));
    });
  }

  xla::Future<> ReduceScatter(Address send, Address receive, xla::PrimitiveType type, size_t count,
                              xla::ReductionKind kind, const Executor& executor) override {
    return reduce("reduce-scatter", type, executor,
                  [=, this](auto& to, auto& operation, Element e) {
                    to.reduce_scatter(operation, rank_, send.opaque(), receive.opaque(), e, count,
                                      to_reduction(kind));
                  });
  }

  xla::Future<> AllGather(Address send, Address receive, xla::PrimitiveType type, size_t count,
                          const Executor& executor) override {
    return run("all-gather", executor, [=, this](auto& to, auto& operation) {
      to.all_gather(operation, rank_, send.opaque(), receive.opaque(), bytes_of(type, count));
    });
  }

  xla::Future<> Broadcast(Address send, Address receive, xla::PrimitiveType type, size_t count,
                          xla::RankId root, const Executor& executor) override {
    return run("broadcast", executor, [=, this](auto& to, auto& operation) {
      to.broadcast(operation, rank_, send.opaque(), receive.opaque(), bytes_of(type, count),
                   static_cast<int>(root.value()));
    });
  }

  xla::Future<> CollectivePermute(Address send, Address receive, xla::PrimitiveType type,
                                  size_t count, std::optional<xla::RankId> source,
                                  absl::Span<const xla::RankId> targets,
                                  const Executor& executor) override {
    std::optional<int> from;
    if (source.has_value()) from = static_cast<int>(source->value());
    std::vector<int> to_ranks;
    for (const xla::RankId target : targets) to_ranks.push_back(static_cast<int>(target.value()));
    return run("collective-permute", executor, [&](auto& to, auto& operation) {
      to.permute(operation, rank_, send.opaque(), receive.opaque(), bytes_of(type, count), from,
                 to_ranks);
    });
  }

  xla::Future<> AllToAll(absl::InlinedVector<Address, 4> send,
                         absl::InlinedVector<Address, 4> receive, xla::PrimitiveType type,
                         size_t count, const Executor& executor) override {
    std::vector<const void*> ins;
    std::vector<void*> outs;
    for (const Address& address : send) ins.push_back(address.opaque());
    for (const Address& address : receive) outs.push_back(address.opaque());
    if (ins.size() != devices_.size() || outs.size() != devices_.size()) {
      return xla::Future<>(
          absl::InternalError(absl::StrCat("all-to-all among ", devices_.size(), " devices with ",
                                           ins.size(), " and ", outs.size(), " buffers")));
    }
    return run("all-to-all", executor, [&](auto& to, auto& operation) {
      to.all_to_all(operation, rank_, ins, outs, bytes_of(type, count));
    });
  }

  // XLA's CPU backend has no send or receive between devices: nothing calls these.
  xla::Future<> Send(Address, xla::PrimitiveType, size_t, xla::RankId, const Executor&) override {
    return xla::Future<>(absl::UnimplementedError("send between devices"));
  }
  xla::Future<> Recv(Address, xla::PrimitiveType, size_t, xla::RankId, const Executor&) override {
    return xla::Future<>(absl::UnimplementedError("receive between devices"));
  }

  absl::StatusOr<size_t> NumRanks() const override { return devices_.size(); }
  absl::StatusOr<size_t> CurrentRank() override { return static_cast<size_t>(rank_); }
  std::string ToString() const override {
    return absl::StrCat("rank ", rank_, " of devices ", absl::StrJoin(devices_, ", "));
  }

 private:
  template <typename Body>
  xla::Future<> run(const char* name, const Executor& executor, const Body& body) {
    const absl::Status status = try_run(name, executor, body);
    if (status.ok()) return xla::Future<>(status);
    return xla::Future<>(absl::Status(status.code(), absl::StrCat(name, " among ", devices_.size(),
                                                                  " devices: ", status.message())));
  }

  template <typename Body>
  xla::Future<> reduce(const char* name, xla::PrimitiveType type, const Executor& executor,
                       const Body& body) {
    const absl::StatusOr<Element> element = to_element(type);
    if (!element.ok()) return xla::Future<>(element.status());
    return run(name, executor, [&](auto& to, auto& operation) { body(to, operation, *element); });
  }

  template <typename Body>
  absl::Status try_run(const char* name, const Executor& executor, const Body& body) {
    TF_ASSIGN_OR_RETURN(const auto* cpu, xla::cpu::CpuCollectives::TryCast(&executor));
    const std::shared_ptr<Launches> launches = launches_.lock();
    if (launches == nullptr) return absl::FailedPreconditionError("the client has been destroyed");
    const UnderWay::Scope scope(launches->collectives_under_way(), name, devices_);
    const int64_t launch = cpu->rendezvous_key().run_id.ToInt();
    return catch_failure([&] {
      try {
        const auto entry = launches->enter(launch, devices_, processes_, rank_);
        body(*entry.communicator, entry.operation);
      } catch (const Failure& failure) {
        launches->fail(launch, failure);
        throw;
      }
    });
  }

  const std::weak_ptr<Launches> launches_;
  const std::vector<int64_t> devices_;
  std::vector<int> processes_;
  const int rank_;
};

class Collectives : public xla::cpu::CpuCollectives {
 public:
  explicit Collectives(std::weak_ptr<Launches> launches) : launches_(std::move(launches)) {}

  absl::StatusOr<std::vector<std::unique_ptr<xla::Communicator>>> CreateCommunicators(
      const xla::CliqueKey& key, const std::optional<xla::CliqueIds>&,
      absl::Span<const DeviceRank> ranks, const Config&) override {
    std::vector<int64_t> devices;
    for (const xla::GlobalDeviceId device : key.devices()) devices.push_back(device.value());
    std::vector<std::unique_ptr<xla::Communicator>> result;
    for (const DeviceRank& rank : ranks) {
      result.push_back(std::make_unique<DeviceCommunicator>(launches_, devices,
                                                            static_cast<int>(rank.rank.value())));
    }
    return result;
  }

 private:
  const std::weak_ptr<Launches> launches_;
};

}  // namespace

std::shared_ptr<xla::cpu::CpuCollectives> make_collectives(std::shared_ptr<Launches> launches) {
  // XLA keeps communicators by the address of their collectives, for ever: none may come twice.
  static std::mutex mutex;
  static auto* kept = new std::vector<std::shared_ptr<xla::cpu::CpuCollectives>>;
  std::lock_guard lock(mutex);
  return kept->emplace_back(std::make_shared<Collectives>(launches));
}

}  // namespace tessera::pjrt_cpu
