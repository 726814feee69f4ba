#include "base/start_thread.h"

#include "base/error.h"

namespace sluice {

void report_no_thread(const std::error_code& error) {
  throw Error(ErrorCode::kOutOfMemory,
              "the system refused to start a thread: {}; give fewer --threads, or raise the "
              "limits of processes and memory (ulimit -u, ulimit -v)",
              error.message());
}

}  // namespace sluice
