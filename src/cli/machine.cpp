#include "cli/machine.h"

#include "base/read_file.h"
#include "base/thread_pool.h"
#include "stream/system_memory.h"

#include <algorithm>
#include <ctime>
#include <sys/utsname.h>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

constexpr uint64_t kSystemFileBytes = 4u << 20;

std::string quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += R"('\'')";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

std::string parse_processor(std::string_view cpuinfo) {
  while (!cpuinfo.empty()) {
    const std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(cpuinfo.size(), line.size() + 1));
    const size_t colon = line.find(':');
    if (!line.starts_with("model name") || colon == std::string_view::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == std::string_view::npos) continue;
    return std::string(line.substr(begin, line.find_last_not_of(" \t") + 1 - begin));
  }
  return {};
}

Machine this_machine() {
  Machine machine;
  machine.processors = default_thread_count();
  machine.processor = parse_processor(read_file("/proc/cpuinfo", kSystemFileBytes).text);
  machine.memory_bytes =
      stream::parse_meminfo(read_file("/proc/meminfo", kSystemFileBytes).text, "MemTotal")
          .value_or(0);
  utsname system{};
  if (uname(&system) == 0) {
    machine.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
    if (machine.processor.empty()) machine.processor = system.machine;
  }
  return machine;
}

std::string command_line() {
  const std::string words = read_file("/proc/self/cmdline", kSystemFileBytes).text;
  std::string line;
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find('\0', begin), words.size());
    line += (line.empty() ? "" : " ") + quoted(std::string_view(words).substr(begin, end - begin));
    begin = end + 1;
  }
  return line;
}

std::string utc_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace sluice::cli
