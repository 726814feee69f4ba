// A model in packs on several drives has more files than a shell allows by default: without these
// it would fail to open, or fail without a word of what to do.
#include "io/file_limit.h"

#include "base/error.h"

#include <cstdlib>
#include <sys/resource.h>

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

constexpr rlim_t kSoft = 64, kHard = 200;

/// In a process of its own, since a hard limit cannot be taken back. Exits with 0 when all is well.
int with_limits() {
  const rlimit little{.rlim_cur = kSoft, .rlim_max = kHard};
  if (::setrlimit(RLIMIT_NOFILE, &little) != 0) return 2;
  rlimit now{};
  allow_open_files(8);
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur != kSoft) return 3;
  allow_open_files(100);
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur <= 100) return 4;
  try {
    allow_open_files(1000);
  } catch (const Error& error) {
    const std::string_view text = error.what();
    const bool says = text.find("ulimit -n 1") != text.npos &&
                      text.find("LimitNOFILE=1") != text.npos &&
                      text.find("may open 200") != text.npos;
    return says && error.code() == ErrorCode::kIo ? 0 : 5;
  }
  return 6;
}

TEST(FileLimit, RaisesTheSoftLimitAndNamesTheHardOne) {
  EXPECT_EXIT(std::exit(with_limits()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice::io
