#pragma once
#include "base/types.h"
#include "io/input_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sluice::io {

/// InputFile::read() for someone who can do without. False when it has not ended within `limit`:
/// then `into` is as it was, and the read goes on in a thread of its own, with memory of its own,
/// for as long as the drive hangs. Throws Error as read() and start_thread() do.
[[nodiscard]] bool read_within(std::shared_ptr<const InputFile> file, uint64_t offset,
                               std::span<std::byte> into, Nanos limit);

}  // namespace sluice::io
