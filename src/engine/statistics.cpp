#include "engine/statistics.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/resource.h>

#include <fmt/format.h>

namespace sluice::engine {
namespace {

double seconds(Nanos time) { return std::chrono::duration<double>(time).count(); }

double per(double amount, uint64_t count) {
  return count == 0 ? 0.0 : amount / static_cast<double>(count);
}

std::string summary(const PhaseStats& phase) {
  return fmt::format(
      "{:.2f} tokens/s, {:.3f} GB read per token, {:.1f} % hits, waiting {:.1f} ms, "
      "computing {:.1f} ms a token",
      phase.tokens_per_second(), phase.bytes_per_token() / 1e9, 100.0 * phase.hit_share(),
      phase.waiting_ms_per_token(), phase.computing_ms_per_token());
}

std::string details(const char* name, const PhaseStats& phase) {
  return fmt::format(
      "{:<8} {} tokens in {} passes, {:.3f} s ({:.2f} tokens/s, waiting {:.3f} s); experts {} of "
      "{} "
      "hit, {:.3f} GB; spine {:.3f} GB; from the drives {:.3f} GB\n",
      name, phase.tokens, phase.passes, seconds(phase.elapsed), phase.tokens_per_second(),
      seconds(phase.waiting), phase.expert_hits, phase.expert_hits + phase.expert_misses,
      static_cast<double>(phase.expert_bytes) / 1e9, static_cast<double>(phase.spine_bytes) / 1e9,
      static_cast<double>(phase.device_bytes) / 1e9);
}

std::string json_object(const PhaseStats& phase) {
  return fmt::format(R"({{"tokens":{},"passes":{},"seconds":{:.6f},"waiting_seconds":{:.6f},)"
                     R"("tokens_per_second":{:.4f},"expert_hits":{},"expert_misses":{},)"
                     R"("expert_bytes":{},"spine_bytes":{},"device_bytes":{}}})",
                     phase.tokens, phase.passes, seconds(phase.elapsed), seconds(phase.waiting),
                     phase.tokens_per_second(), phase.expert_hits, phase.expert_misses,
                     phase.expert_bytes, phase.spine_bytes, phase.device_bytes);
}

}  // namespace

void PhaseStats::add(const PhaseStats& other) {
  tokens += other.tokens;
  passes += other.passes;
  elapsed += other.elapsed;
  waiting += other.waiting;
  expert_hits += other.expert_hits;
  expert_misses += other.expert_misses;
  expert_bytes += other.expert_bytes;
  spine_bytes += other.spine_bytes;
  device_bytes += other.device_bytes;
}

double PhaseStats::tokens_per_second() const {
  return elapsed.count() == 0 ? 0.0 : static_cast<double>(tokens) / seconds(elapsed);
}

double PhaseStats::bytes_per_token() const {
  return per(static_cast<double>(device_bytes), tokens);
}

double PhaseStats::hit_share() const {
  return per(static_cast<double>(expert_hits), expert_hits + expert_misses);
}

double PhaseStats::waiting_ms_per_token() const { return per(1e3 * seconds(waiting), tokens); }

double PhaseStats::computing_ms_per_token() const {
  // Two clocks measure the two times, so that the difference may fall a little below zero.
  return per(1e3 * std::max(0.0, seconds(elapsed - waiting)), tokens);
}

void GenerationStats::add(const GenerationStats& other) {
  prefill.add(other.prefill);
  decode.add(other.decode);
  peak_rss_bytes = std::max(peak_rss_bytes, other.peak_rss_bytes);
}

std::string stats_text(const GenerationStats& stats) {
  const PhaseStats& main = stats.decode.tokens > 0 ? stats.decode : stats.prefill;
  return summary(main) + "\n" + details("prefill", stats.prefill) +
         details("decode", stats.decode) +
         fmt::format("peak resident memory {:.1f} MiB\n",
                     static_cast<double>(stats.peak_rss_bytes) / 0x1p20);
}

std::string stats_json(const GenerationStats& stats) {
  return fmt::format(R"({{"prefill":{},"decode":{},"peak_rss_bytes":{}}})",
                     json_object(stats.prefill), json_object(stats.decode), stats.peak_rss_bytes);
}

uint64_t peak_rss_bytes() {
  // Linux carries getrusage()'s maximum over from the program that started this one; VmHWM starts
  // afresh.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
  return static_cast<uint64_t>(usage.ru_maxrss);
#else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

}  // namespace sluice::engine
