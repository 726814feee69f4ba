#include "engine/statistics.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/resource.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::engine {
namespace {

using Json = nlohmann::ordered_json;
using stream::DriveCounters;

double per(double amount, uint64_t count) {
  return count == 0 ? 0.0 : amount / static_cast<double>(count);
}

double share(uint64_t part, uint64_t whole) { return per(static_cast<double>(part), whole); }

double gigabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

std::string summary(const PhaseStats& phase) {
  const double waiting = per(to_milliseconds(phase.waiting()), phase.tokens);
  const double computing = per(to_milliseconds(phase.computing()), phase.tokens);
  return fmt::format(
      "{:.2f} tokens/s, {:.3f} GB read per token, {:.1f} % hits, waiting {:.1f} ms, "
      "computing {:.1f} ms a token, drives busy {:.1f} %\n",
      phase.tokens_per_second(), phase.bytes_per_token() / 1e9, 100.0 * phase.hit_share(), waiting,
      computing, 100.0 * phase.busy_share());
}

std::string details(const char* name, const PhaseStats& phase) {
  const stream::StreamerCounters& c = phase.reading.streamer;
  return fmt::format(
             "{:<8} {} tokens in {} passes, {:.3f} s ({:.2f} tokens/s, waiting {:.3f} s, computing "
             "{:.3f} s); experts {} of {} hit, {:.3f} GB; spine {:.3f} GB; from the drives {:.3f} "
             "GB\n",
             name, phase.tokens, phase.passes, to_seconds(phase.elapsed), phase.tokens_per_second(),
             to_seconds(phase.waiting()), to_seconds(phase.computing()), c.expert_hits,
             c.expert_hits + c.expert_misses, gigabytes(c.expert_bytes_read),
             gigabytes(c.spine_bytes_read), gigabytes(c.device_bytes_read)) +
         fmt::format(
             "{:<8} hints: {} of {} used ({:.1f} %), {:.3f} of {:.3f} GB wasted ({:.1f} %; {:.1f} "
             "% of the {:.3f} GB that experts missed); {} retries, {} rescues\n",
             "", c.hint_hits, c.hints_started, 100.0 * phase.hint_recall(),
             gigabytes(c.hint_bytes_wasted), gigabytes(c.hint_bytes_read),
             100.0 * phase.hint_waste(), 100.0 * phase.hint_waste_of_missed(),
             gigabytes(c.expert_bytes_missed), c.retries, c.rescues);
}

/// "2 io_error, 1 short", or "-".
std::string failures(const DriveCounters& drive) {
  std::string text;
  for (size_t i = 1; i < drive.outcomes.size(); ++i) {
    if (drive.outcomes[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", drive.outcomes[i],
                        stream::name(static_cast<stream::ReadOutcome>(i)));
  }
  return text.empty() ? "-" : text;
}

std::string drive_table(const PhaseStats& all, const std::vector<std::string>& names) {
  size_t width = 5;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string out = fmt::format("{:<{}}", "drive", width);
  for (size_t p = 0; p < stream::kPriorities; ++p) {
    out += fmt::format("{:>10}", stream::name(static_cast<stream::Priority>(p)));
  }
  out += fmt::format("{:>10}{:>8}{:>8}{:>12}{:>12}  failed reads\n", "GB", "share", "busy", "GB/s",
                     "quarantines");
  for (size_t d = 0; d < all.reading.drives.size(); ++d) {
    const DriveCounters& drive = all.reading.drives[d];
    out += fmt::format("{:<{}}", names[d], width);
    for (const uint64_t bytes : drive.bytes) out += fmt::format("{:>10.3f}", gigabytes(bytes));
    const uint64_t bytes = stream::bytes_read(drive);
    out += fmt::format("{:>10.3f}{:>6.1f} %{:>6.1f} %{:>12.3f}{:>12}  {}\n", gigabytes(bytes),
                       100.0 * share(bytes, all.reading.streamer.device_bytes_read),
                       100.0 * all.busy_share(drive), drive.rate / 1e9, drive.quarantines,
                       failures(drive));
  }
  return out;
}

Json drive_json(const PhaseStats& phase, size_t d, const std::vector<std::string>& names) {
  const DriveCounters& drive = phase.reading.drives[d];
  Json bytes = Json::object(), reads = Json::object();
  for (size_t p = 0; p < drive.bytes.size(); ++p) {
    bytes[std::string(stream::name(static_cast<stream::Priority>(p)))] = drive.bytes[p];
  }
  for (size_t o = 0; o < drive.outcomes.size(); ++o) {
    reads[std::string(stream::name(static_cast<stream::ReadOutcome>(o)))] = drive.outcomes[o];
  }
  return {{"name", names[d]},
          {"bytes", std::move(bytes)},
          {"reads", std::move(reads)},
          {"busy_seconds", to_seconds(drive.busy)},
          {"bytes_per_second", drive.rate},
          {"quarantines", drive.quarantines}};
}

Json phase_json(const PhaseStats& phase, const std::vector<std::string>& names) {
  Json json = {{"tokens", phase.tokens},
               {"passes", phase.passes},
               {"seconds", to_seconds(phase.elapsed)},
               {"waiting_seconds", to_seconds(phase.waiting())},
               {"computing_seconds", to_seconds(phase.computing())},
               {"tokens_per_second", phase.tokens_per_second()}};
  for (const auto& [name, field] : stream::streamer_counters()) {
    if (field == &stream::StreamerCounters::waiting_ns) continue;  // Stands there in seconds.
    json[std::string(name)] = phase.reading.streamer.*field;
  }
  json["drives"] = Json::array();
  for (size_t d = 0; d < phase.reading.drives.size(); ++d) {
    json["drives"].push_back(drive_json(phase, d, names));
  }
  return json;
}

/// A line of what Linux tells of this process; 0 when there is none.
uint64_t status_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoull(line.substr(field.size())) * 1024;
  }
  return 0;
}

}  // namespace

void PhaseStats::add(const PhaseStats& other) {
  tokens += other.tokens;
  passes += other.passes;
  elapsed += other.elapsed;
  reading.add(other.reading);
}

Nanos PhaseStats::waiting() const {
  return Nanos(static_cast<int64_t>(reading.streamer.waiting_ns));
}

Nanos PhaseStats::computing() const { return elapsed - waiting(); }

double PhaseStats::tokens_per_second() const {
  return elapsed.count() == 0 ? 0.0 : static_cast<double>(tokens) / to_seconds(elapsed);
}

double PhaseStats::bytes_per_token() const {
  return share(reading.streamer.device_bytes_read, tokens);
}

double PhaseStats::hit_share() const {
  const stream::StreamerCounters& c = reading.streamer;
  return share(c.expert_hits, c.expert_hits + c.expert_misses);
}

double PhaseStats::hint_recall() const {
  return share(reading.streamer.hint_hits, reading.streamer.hints_started);
}

double PhaseStats::hint_waste() const {
  return share(reading.streamer.hint_bytes_wasted, reading.streamer.hint_bytes_read);
}

double PhaseStats::hint_waste_of_missed() const {
  return share(reading.streamer.hint_bytes_wasted, reading.streamer.expert_bytes_missed);
}

double PhaseStats::busy_share(const DriveCounters& drive) const {
  return elapsed.count() == 0 ? 0.0 : to_seconds(drive.busy) / to_seconds(elapsed);
}

double PhaseStats::busy_share() const {
  double sum = 0.0;
  for (const DriveCounters& drive : reading.drives) sum += busy_share(drive);
  return per(sum, reading.drives.size());
}

std::string stats_text(const GenerationStats& stats) {
  const PhaseStats& main = stats.decode.tokens > 0 ? stats.decode : stats.prefill;
  PhaseStats all = stats.prefill;
  all.add(stats.decode);
  return summary(main) + details("prefill", stats.prefill) + details("decode", stats.decode) +
         drive_table(all, stats.drive_names) +
         fmt::format("peak resident memory {:.1f} MiB\n",
                     static_cast<double>(stats.peak_rss_bytes) / 0x1p20);
}

std::string stats_json(const GenerationStats& stats) {
  const Json json = {{"prefill", phase_json(stats.prefill, stats.drive_names)},
                     {"decode", phase_json(stats.decode, stats.drive_names)},
                     {"peak_rss_bytes", stats.peak_rss_bytes}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

uint64_t peak_rss_bytes() {
  // Linux carries getrusage()'s maximum over from the program that started this one; VmHWM starts
  // afresh.
  if (const uint64_t peak = status_bytes("VmHWM:"); peak > 0) return peak;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
  return static_cast<uint64_t>(usage.ru_maxrss);
#else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

uint64_t rss_bytes() { return status_bytes("VmRSS:"); }

bool restart_peak_rss() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5";  // What Linux calls resetting the peak, see proc(5).
  return static_cast<bool>(file.flush());
}

}  // namespace sluice::engine
