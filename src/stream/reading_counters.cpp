#include "stream/reading_counters.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <numeric>

namespace sluice::stream {
namespace {

constexpr NamedCounter kCounters[] = {
    {"expert_hits", &StreamerCounters::expert_hits},
    {"expert_misses", &StreamerCounters::expert_misses},
    {"spine_hits", &StreamerCounters::spine_hits},
    {"spine_misses", &StreamerCounters::spine_misses},
    {"expert_bytes", &StreamerCounters::expert_bytes_read},
    {"spine_bytes", &StreamerCounters::spine_bytes_read},
    {"device_bytes", &StreamerCounters::device_bytes_read},
    {"expert_bytes_missed", &StreamerCounters::expert_bytes_missed},
    {"hints_started", &StreamerCounters::hints_started},
    {"hint_hits", &StreamerCounters::hint_hits},
    {"hint_bytes_read", &StreamerCounters::hint_bytes_read},
    {"hint_bytes_used", &StreamerCounters::hint_bytes_used},
    {"hint_bytes_wasted", &StreamerCounters::hint_bytes_wasted},
    {"evictions", &StreamerCounters::evictions},
    {"retries", &StreamerCounters::retries},
    {"rescues", &StreamerCounters::rescues},
    {"waiting_ns", &StreamerCounters::waiting_ns},
};
static_assert(std::size(kCounters) * sizeof(uint64_t) == sizeof(StreamerCounters),
              "a counter has no name");

template <size_t n, class Combine>
void combine(std::array<uint64_t, n>& to, const std::array<uint64_t, n>& with, Combine operation) {
  for (size_t i = 0; i < n; ++i) to[i] = operation(to[i], with[i]);
}

/// Everything but rates and oldest reads, which are of one moment.
template <class Combine>
void combine(ReadingCounters& to, const ReadingCounters& with, Combine operation) {
  for (const auto& [name, field] : kCounters) {
    to.streamer.*field = operation(to.streamer.*field, with.streamer.*field);
  }
  SLUICE_CHECK(to.drives.size() == with.drives.size());
  for (size_t d = 0; d < to.drives.size(); ++d) {
    DriveCounters& drive = to.drives[d];
    combine(drive.bytes, with.drives[d].bytes, operation);
    combine(drive.outcomes, with.drives[d].outcomes, operation);
    drive.quarantines = operation(drive.quarantines, with.drives[d].quarantines);
    drive.busy = operation(drive.busy, with.drives[d].busy);
  }
}

uint64_t sum(std::span<const uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

}  // namespace

std::span<const NamedCounter> streamer_counters() { return kCounters; }

std::string_view name(Priority priority) {
  constexpr std::string_view kNames[kPriorities] = {"spine", "expert", "hint", "fill"};
  return kNames[static_cast<size_t>(priority)];
}

std::string_view name(ReadOutcome outcome) {
  constexpr std::string_view kNames[kReadOutcomes] = {
      "good", "io_error", "short", "wrong_checksum", "broken_frame", "no_answer"};
  return kNames[static_cast<size_t>(outcome)];
}

void ReadingCounters::add(ReadingCounters later) {
  // Those of a phase in which nothing ran have no drives.
  const size_t count = std::max(drives.size(), later.drives.size());
  drives.resize(count);
  later.drives.resize(count);
  combine(*this, later, [](auto a, auto b) { return a + b; });
  for (size_t d = 0; d < count; ++d) {
    if (later.drives[d].rate > 0) drives[d].rate = later.drives[d].rate;
    drives[d].oldest = later.drives[d].oldest;
  }
}

ReadingCounters ReadingCounters::since(const ReadingCounters& before) const {
  ReadingCounters result = *this;
  combine(result, before, [](auto now, auto then) { return now - then; });
  return result;
}

uint64_t bytes_read(const DriveCounters& drive) { return sum(drive.bytes); }
uint64_t reads_ended(const DriveCounters& drive) { return sum(drive.outcomes); }

}  // namespace sluice::stream
