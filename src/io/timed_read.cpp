#include "io/timed_read.h"

#include "base/start_thread.h"

#include <algorithm>
#include <future>
#include <utility>
#include <vector>

namespace sluice::io {

bool read_within(std::shared_ptr<const InputFile> file, uint64_t offset, std::span<std::byte> into,
                 Nanos limit) {
  using Bytes = std::vector<std::byte>;
  const auto task = std::make_shared<std::packaged_task<Bytes()>>(
      [file = std::move(file), offset, bytes = into.size()] {
        Bytes memory(bytes);
        file->read(offset, memory);
        return memory;
      });
  std::future<Bytes> result = task->get_future();
  // Nobody waits for it when the drive hangs.
  start_thread([task] { (*task)(); }).detach();
  if (result.wait_for(limit) != std::future_status::ready) return false;
  std::ranges::copy(result.get(), into.begin());
  return true;
}

}  // namespace sluice::io
