#pragma once
#include "base/error.h"

#include <string>
#include <string_view>

namespace sluice::format {

/// Refuses a file of a checkpoint whose bytes cannot be what was released. `why` goes on after the
/// file's name.
[[noreturn]] inline void refuse_damaged(std::string_view path, std::string_view why) {
  throw Error(ErrorCode::kCorrupt, "{}: {}; fetch the file anew", path, why);
}

}  // namespace sluice::format
