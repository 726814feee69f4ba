// Lets pread() of a program fail where no drive can be emulated: a library for LD_PRELOAD. The
// variable SLUICE_READ_FAULTS holds rules "PATH FAULT FIRST TIMES", separated by semicolons: the
// FIRST-th and the following TIMES - 1 calls on files whose path ends with PATH
//   error    fail with EIO,
//   short    move half of the blocks that they were asked for,
//   empty    find the end of the file,
//   delay    take 100 ms longer.
// Reads of io_uring do not pass through here.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr size_t kBlockBytes = 4096;

using Pread = ssize_t (*)(int, void*, size_t, off_t);

struct Rule {
  std::string path, fault;
  uint64_t first = 0, times = 0;
  std::atomic<uint64_t> calls{0};
};

// In a deque, because a rule cannot be moved.
std::deque<Rule> read_rules() {
  std::deque<Rule> rules;
  const char* const variable = std::getenv("SLUICE_READ_FAULTS");
  std::istringstream list(variable == nullptr ? "" : variable);
  for (std::string text; std::getline(list, text, ';');) {
    std::istringstream words(text);
    Rule& rule = rules.emplace_back();
    if (!(words >> rule.path >> rule.fault >> rule.first >> rule.times)) {
      std::fprintf(stderr, "SLUICE_READ_FAULTS: not a rule: %s\n", text.c_str());
      std::abort();
    }
  }
  return rules;
}

std::string path_of(int descriptor) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return {path.data(), length > 0 ? static_cast<size_t>(length) : 0};
}

// The fault of this call; empty when it has none.
std::string_view fault_of(int descriptor) {
  static std::deque<Rule> rules = read_rules();
  const std::string path = path_of(descriptor);
  for (Rule& rule : rules) {
    if (!path.ends_with(rule.path)) continue;
    const uint64_t call = ++rule.calls;
    if (call >= rule.first && call - rule.first < rule.times) return rule.fault;
  }
  return {};
}

ssize_t read_with_faults(int descriptor, void* into, size_t bytes, off_t offset) {
  static const auto real = reinterpret_cast<Pread>(::dlsym(RTLD_NEXT, "pread"));
  const std::string_view fault = fault_of(descriptor);
  if (fault == "error") {
    errno = EIO;
    return -1;
  }
  if (fault == "empty") return 0;
  if (fault == "delay") {
    const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
    ::nanosleep(&pause, nullptr);
  }
  // Direct reads are of whole blocks.
  const size_t half = std::max(bytes / 2 / kBlockBytes * kBlockBytes, kBlockBytes);
  return real(descriptor, into, fault == "short" ? std::min(half, bytes) : bytes, offset);
}

}  // namespace

extern "C" {

ssize_t pread(int descriptor, void* into, size_t bytes, off_t offset) {
  return read_with_faults(descriptor, into, bytes, offset);
}

ssize_t pread64(int descriptor, void* into, size_t bytes, off_t offset) {
  return read_with_faults(descriptor, into, bytes, offset);
}

}  // extern "C"
