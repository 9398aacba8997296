#include "tessera/train/traffic_meter.h"

#include "absl/strings/str_format.h"
#include "tessera/base/format.h"
#include "tessera/pjrt/hlo_module.h"
#include "tessera/train/collective_uses.h"

namespace tessera {
namespace {

std::optional<double> least_of(const CompiledFunction& step, const Mesh& mesh,
                               const std::vector<int64_t>& processes, int64_t process) {
  const auto program = step.executable().optimized_program();
  if (!program.ok()) return std::nullopt;
  const auto module = pjrt::HloModule::parse(program->format, program->code);
  if (!module.ok()) return std::nullopt;
  return least_bytes_sent(collective_uses(*module, mesh.size()), processes, process);
}

}  // namespace

TrafficMeter::TrafficMeter(const pjrt::Client& client, const CompiledFunction& step,
                           const Mesh& mesh, const std::vector<int64_t>& processes)
    : client_(client) {
  if (step.spans_processes()) least_ = least_of(step, mesh, processes, client.process_index());
}

std::optional<uint64_t> TrafficMeter::sent() const {
  if (!least_) return std::nullopt;
  const auto traffic = client_.traffic();
  if (!traffic.ok()) return std::nullopt;
  return traffic->bytes_sent;
}

void TrafficMeter::begin(int64_t step) {
  began_at_ = sent();
  began_step_ = step;
}

void TrafficMeter::end(int64_t step) {
  const std::optional<uint64_t> now = sent();
  if (began_at_ && now) {
    bytes_ += *now - *began_at_;
    steps_ += step - began_step_;
  }
  began_at_.reset();
}

std::optional<TrafficMeter::PerStep> TrafficMeter::per_step() const {
  if (!least_ || steps_ == 0) return std::nullopt;
  return PerStep{static_cast<double>(bytes_) / static_cast<double>(steps_), *least_};
}

std::string to_string(const TrafficMeter::PerStep& traffic) {
  const std::string sent = str_cat(count_text(traffic.sent), " bytes a step to other processes, ");
  if (traffic.least == 0) return sent + "none of which the step asks for";
  return sent + absl::StrFormat("%.2f %% above the least, %s",
                                100 * (traffic.sent / traffic.least - 1),
                                count_text(traffic.least));
}

}  // namespace tessera
