#include "io/disk_counters.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::io {
namespace {

constexpr uint64_t kSectorBytes = 512;  // Of this file, whatever the device has.

/// The first word of `text` after blanks, which is taken off it.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

/// A line: major, minor, name, then four figures of reads, four of writes, those in flight, and two
/// times. Newer systems add more.
std::optional<DiskCounters> parse_line(std::string_view line) {
  (void)take_word(line);
  (void)take_word(line);
  DiskCounters disk{.name = std::string(take_word(line))};
  std::array<uint64_t, 11> figures{};
  for (uint64_t& figure : figures) {
    const std::string_view word = take_word(line);
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), figure);
    if (error != std::errc{} || rest != word.data() + word.size()) return std::nullopt;
  }
  disk.reads = figures[0];
  disk.read_bytes = figures[2] * kSectorBytes;
  disk.read_ms = figures[3];
  disk.writes = figures[4];
  disk.write_bytes = figures[6] * kSectorBytes;
  disk.write_ms = figures[7];
  disk.busy_ms = figures[9];
  disk.queued_ms = figures[10];
  return disk;
}

/// Times are kept in 32 bits and begin anew.
double milliseconds_between(uint64_t before, uint64_t after) {
  return static_cast<double>(static_cast<uint32_t>(after - before));
}

/// A device that was attached anew counts from 0.
double count_between(uint64_t before, uint64_t after) {
  return static_cast<double>(after >= before ? after - before : after);
}

}  // namespace

std::vector<DiskCounters> parse_disk_counters(std::string_view diskstats) {
  std::vector<DiskCounters> disks;
  while (!diskstats.empty()) {
    const size_t end = std::min(diskstats.find('\n'), diskstats.size());
    if (auto disk = parse_line(diskstats.substr(0, end))) disks.push_back(std::move(*disk));
    diskstats.remove_prefix(std::min(end + 1, diskstats.size()));
  }
  return disks;
}

DriveRates rates_between(const DiskCounters& before, const DiskCounters& after, double seconds) {
  const double reads = count_between(before.reads, after.reads);
  const double queued = milliseconds_between(before.queued_ms, after.queued_ms);
  const double busy = milliseconds_between(before.busy_ms, after.busy_ms);
  DriveRates rates;
  rates.read_bytes_per_second = count_between(before.read_bytes, after.read_bytes) / seconds;
  rates.write_bytes_per_second = count_between(before.write_bytes, after.write_bytes) / seconds;
  rates.reads_per_second = reads / seconds;
  rates.queue = queued / 1e3 / seconds;
  rates.busy = std::min(1.0, busy / 1e3 / seconds);
  if (reads > 0) rates.latency_ms = milliseconds_between(before.read_ms, after.read_ms) / reads;
  return rates;
}

void share_out(std::vector<DriveRates>& rates) {
  double sum = 0;
  for (const DriveRates& drive : rates) sum += drive.read_bytes_per_second;
  for (DriveRates& drive : rates) drive.share = sum > 0 ? drive.read_bytes_per_second / sum : 0.0;
}

}  // namespace sluice::io
