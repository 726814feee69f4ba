#pragma once
#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice::io {

/// Opens a file and reads as InputFile::read() does, for someone who can do without. False when it
/// has not ended within `limit`: then `into` is as it was, and the read goes on in a thread of its
/// own, with memory of its own, for as long as the drive hangs. Throws Error as InputFile and
/// start_thread() do.
[[nodiscard]] bool read_within(const std::string& path, uint64_t offset, std::span<std::byte> into,
                               Nanos limit);

}  // namespace sluice::io
