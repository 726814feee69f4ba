#include "base/types.h"
#include "stream/drive_health.h"

#include <fmt/format.h>

namespace sluice::stream {
namespace {

std::string rate_text(double rate) {
  return rate >= 1e9 ? fmt::format("{:.2f} GB/s", rate / 1e9)
                     : fmt::format("{:.0f} MB/s", rate / 1e6);
}

std::string times_text(uint64_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string text(const Throttling& found) {
  return fmt::format("throttled: {} before, {} since {:.1f} s", rate_text(found.rate_before),
                     rate_text(found.rate_after), to_seconds(found.since));
}

std::string text(const Stalling& found) {
  std::string out = fmt::format("stalled: {}, for {:.2f} s at most",
                                times_text(found.times, "time"), to_seconds(found.longest));
  if (!found.ended) out += " and still when the run ended";
  out += fmt::format("; the engine waited {:.2f} s meanwhile", to_seconds(found.waited));
  if (found.layers > 0) out += fmt::format(", {} ended late", times_text(found.layers, "layer"));
  return out;
}

std::string text(const Lagging& found) {
  return fmt::format(
      "slower than its share: it ended {:.0f} % of the layers, {:.2f} s after the other drives in "
      "all; without that the run would have taken {:.0f} % less",
      100 * found.share, to_seconds(found.behind), 100 * found.time);
}

/// What is wrong with one drive; empty when nothing is.
std::string text(const DriveHealth& drive) {
  std::string out;
  const auto append = [&out](const std::string& part) {
    if (!out.empty()) out += "; ";
    out += part;
  };
  if (drive.throttled) append(text(*drive.throttled));
  if (drive.stalling) append(text(*drive.stalling));
  if (drive.lagging) append(text(*drive.lagging));
  if (drive.failed > 0) append(fmt::format("{} failed", times_text(drive.failed, "read")));
  return out;
}

}  // namespace

std::string verdict(const format::ReadTraceHeader& header, const RunHealth& health) {
  std::string named;
  for (size_t d = 0; d < health.drives.size(); ++d) {
    const std::string trouble = text(health.drives[d]);
    if (trouble.empty()) continue;
    if (!named.empty()) named += ", ";
    named += fmt::format("{} ({})", header.drives[d], trouble);
  }
  if (!named.empty()) return "Look at " + named + ".";
  if (!health.long_enough) {
    return "Nothing failed or stalled; the run is too short to tell whether a drive throttled.";
  }
  return "No drive failed, stalled, throttled or held the others up.";
}

}  // namespace sluice::stream
