#pragma once
#include <cstdio>
#include <cstdlib>

namespace sluice {

[[noreturn]] inline void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace sluice

/// A broken SLUICE_CHECK is a bug in this program, never bad input. It stays on in release builds.
#define SLUICE_CHECK(expression) \
  ((expression) ? (void)0 : ::sluice::check_failed(#expression, __FILE__, __LINE__))
