#include "base/start_thread.h"

#include "base/error.h"

#include <system_error>
#include <utility>

namespace sluice {

std::thread start_thread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::kOutOfMemory,
                "the system refused to start a thread: {}; give fewer --threads, or raise the "
                "limits of processes and memory (ulimit -u, ulimit -v)",
                error.code().message());
  }
}

}  // namespace sluice
