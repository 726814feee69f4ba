#pragma once
#include "io/drive_array.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::io {

/// Who makes the reads; the bytes are the same.
enum class ReadMethod : uint8_t {
  kAuto,   ///< io_uring where the system offers it, else threads.
  kUring,  ///< io_uring.
  kPread,  ///< Threads.
};

struct DriveOptions {
  ReadMethod method = ReadMethod::kAuto;
  bool direct = true;  ///< Go around the page cache where the file system allows it.
};

struct OpenedDrives {
  std::unique_ptr<DriveArray> drives;
  std::string no_uring;  ///< Why io_uring was wanted and is not used; empty when it is, or was not.
};

/// Opens all files. Throws Error that names a file which cannot be opened, and kUnsupported with
/// the reason where io_uring was demanded and cannot be had.
[[nodiscard]] OpenedDrives open_drives(const std::vector<std::string>& paths, DriveOptions options);

/// How those drives read, for people: "io_uring", or "pread on 4 threads (no io_uring: ...)".
[[nodiscard]] std::string describe_method(const OpenedDrives& opened);

}  // namespace sluice::io
