#include "stream/drive_model.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>

namespace sluice::stream {
namespace {

// A rate that is not seen again is believed half after this time, and a latency that is not is
// believed twice as long after the other: a throttled drive is known within a second, while one
// slow second does not blow up the window.
constexpr double kRateHalfLifeSeconds = 0.5, kLatencyDoublingSeconds = 5;
// Reads in flight, in pieces, while nothing is known and at least.
constexpr uint64_t kWindowPiecesMin = 2;
constexpr double kWindowGain = 2;
// One bad read, of a drive that others can replace, must not shut it out for good. In reads.
constexpr int kIdleFactor = 20;
constexpr uint32_t kFailuresBeforeQuarantine = 3;
constexpr Nanos kQuarantineMin = std::chrono::milliseconds(250),
                kQuarantineMax = std::chrono::seconds(30);
// Hosts pause virtual machines, and drives collect garbage, for tens of milliseconds: shorter
// delays are not worth reading anything twice. A drive that needs more than the longest for what it
// was given is better left to what only it has.
constexpr Nanos kStallMin = std::chrono::milliseconds(50), kStallMax = std::chrono::seconds(1);
constexpr double kStallFactor = 8;

}  // namespace

DriveModel::Started DriveModel::start(uint64_t bytes, Nanos now) {
  if (in_flight_ == 0) busy_since_ = now;
  in_flight_ += bytes;
  return {.at = now, .delivered = delivered_, .queued = in_flight_};
}

void DriveModel::leave(uint64_t bytes, Nanos now) {
  SLUICE_CHECK(in_flight_ >= bytes);
  in_flight_ -= bytes;
  if (in_flight_ == 0) busy_ += now - busy_since_;
}

void DriveModel::succeed(const Started& started, uint64_t bytes, Nanos now) {
  leave(bytes, now);
  delivered_ += bytes;
  failures_in_a_row_ = 0;
  quarantine_ = {};
  quarantined_until_ = Nanos::min();
  on_trial_ = false;
  const double took = std::max(to_seconds(now - started.at), 1e-9);
  const double rate = static_cast<double>(delivered_ - started.delivered) / took;
  const double age = to_seconds(now - learned_at_);
  rate_ = std::max(rate, rate_ * std::exp2(-age / kRateHalfLifeSeconds));
  const double known = latency_ns_ * std::exp2(age / kLatencyDoublingSeconds);
  latency_ns_ = latency_ns_ == 0 ? took * 1e9 : std::min(took * 1e9, known);
  learned_at_ = now;
}

void DriveModel::fail(uint64_t bytes, bool gone, Nanos now) {
  leave(bytes, now);
  ++failures_in_a_row_;
  if (!gone && !on_trial_ && failures_in_a_row_ < kFailuresBeforeQuarantine) return;
  if (now < quarantined_until_) return;  // Reads that were under way when it began.
  quarantine_ = std::clamp(quarantine_ * 2, kQuarantineMin, kQuarantineMax);
  quarantined_until_ = now + quarantine_;
  on_trial_ = true;
  ++quarantines_;
}

uint64_t DriveModel::window_bytes(Nanos now) const {
  if (on_trial_ || shunned(now)) return std::min(options_.piece_bytes, options_.window_bytes_max);
  const double wanted = std::max(kWindowGain * rate_ * latency_ns_ * 1e-9,
                                 static_cast<double>(kWindowPiecesMin * options_.piece_bytes));
  return static_cast<uint64_t>(std::min(wanted, static_cast<double>(options_.window_bytes_max)));
}

bool DriveModel::stale(Nanos now) const {
  return in_flight_ == 0 && now - learned_at_ > kIdleFactor * expected(options_.piece_bytes);
}

Nanos DriveModel::expected(uint64_t bytes) const {
  if (rate_ <= 0) return Nanos(0);
  const double transfer = static_cast<double>(in_flight_ + bytes) / rate_;
  return Nanos(static_cast<int64_t>(std::max(transfer * 1e9, latency_ns_)));
}

Nanos DriveModel::stall_limit(const Started& started) const {
  const double transfer = rate_ > 0 ? static_cast<double>(started.queued) / rate_ * 1e9 : 0;
  const Nanos usual(static_cast<int64_t>(kStallFactor * std::max(transfer, latency_ns_)));
  return std::clamp(usual, kStallMin, kStallMax);
}

}  // namespace sluice::stream
