#include "io/timed_read.h"

#include "base/start_thread.h"
#include "io/input_file.h"

#include <algorithm>
#include <future>
#include <utility>
#include <vector>

namespace sluice::io {

bool read_within(const std::string& path, uint64_t offset, std::span<std::byte> into, Nanos limit) {
  using Bytes = std::vector<std::byte>;
  std::packaged_task<Bytes()> task([path, offset, bytes = into.size()] {
    Bytes memory(bytes);
    InputFile(path).read(offset, memory);
    return memory;
  });
  std::future<Bytes> result = task.get_future();
  start_thread(std::move(task)).detach();  // Nobody waits for it when the drive hangs.
  if (result.wait_for(limit) != std::future_status::ready) return false;
  std::ranges::copy(result.get(), into.begin());
  return true;
}

}  // namespace sluice::io
