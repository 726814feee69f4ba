#include "cli/bench_ceilings.h"

#include "base/thread_pool.h"
#include "io/file_limit.h"
#include "io/open_drives.h"
#include "io/read_bench.h"
#include "kernels/read_bandwidth.h"
#include "stream/slot_arena.h"
#include "stream/system_memory.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {
namespace {

// Enough that no drive waits for the next read.
constexpr uint64_t kReadBytes = 2u << 20;
constexpr uint32_t kReadsInFlight = 8;

/// All files of one drive; nothing when none has a whole block.
std::optional<io::ReadLoad> load_of(const io::DriveArray& drives, DriveId drive) {
  io::ReadLoad load;
  uint64_t longest = 0;
  for (uint16_t f = 0; f < drives.file_count(); ++f) {
    if (drives.drive({f}) != drive) continue;
    load.files.push_back({.id = {f}, .bytes = std::filesystem::file_size(drives.path({f}))});
    longest = std::max(longest, load.files.back().bytes);
    load.name = drives.path({f});
  }
  const uint64_t bytes = std::min(kReadBytes, longest / io::kBlockBytes * io::kBlockBytes);
  if (bytes == 0) return std::nullopt;
  load.setting = {.bytes = bytes, .depth = kReadsInFlight};
  std::erase_if(load.files, [&](const io::ReadLoad::File& file) { return file.bytes < bytes; });
  return load;
}

}  // namespace

void raise_memory_ceiling(BenchCeilings& ceilings) {
  using namespace std::chrono_literals;
  // Several times what processors cache, and little of what is free.
  const uint64_t bytes = std::min(uint64_t{512} << 20, stream::measure_memory_budget() / 4);
  const stream::SlotArena arena(bytes);
  std::memset(arena.data(), 1, arena.bytes());
  ThreadPool pool(default_thread_count());
  const double rate = kernels::read_bandwidth(
      {reinterpret_cast<const uint64_t*>(arena.data()), arena.bytes() / sizeof(uint64_t)}, pool,
      200ms);
  ceilings.memory = std::max(ceilings.memory, rate);
}

void raise_drive_ceiling(const std::vector<std::string>& files, BenchCeilings& ceilings) {
  // Outlives the drives, whose reads may still be under way when something fails. Of its addresses
  // only those of one load for each drive get memory.
  const stream::SlotArena arena(files.size() * kReadsInFlight * kReadBytes);
  io::allow_open_files(files.size());
  const io::OpenedDrives opened = io::open_drives(files, {});
  for (uint16_t f = 0; f < files.size(); ++f) ceilings.direct &= opened.drives->direct({f});
  std::vector<io::ReadLoad> loads;
  std::byte* memory = arena.data();
  for (uint16_t d = 0; d < opened.drives->drive_count(); ++d) {
    std::optional<io::ReadLoad> load = load_of(*opened.drives, {d});
    if (!load) continue;
    load->memory = {memory, load->setting.window()};
    std::memset(memory, 1, load->setting.window());
    memory += load->setting.window();
    loads.push_back(std::move(*load));
  }
  double rate = 0;
  for (const io::ReadTurn& turn : io::measure_reads(*opened.drives, loads, {.seconds = 0.3})) {
    rate += turn.bytes_per_second;
  }
  ceilings.drives = std::max(ceilings.drives, rate);
}

}  // namespace sluice::cli
