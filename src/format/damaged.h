#pragma once
#include "base/error.h"

#include <string>
#include <string_view>

namespace sluice::format {

/// What to do about a damaged file of a checkpoint.
inline constexpr std::string_view kFetchAnew = "fetch the file anew";

/// Refuses a file whose bytes cannot be what was released or written. `why` goes on after the
/// file's name.
[[noreturn]] inline void refuse_damaged(std::string_view path, std::string_view why,
                                        std::string_view remedy = kFetchAnew) {
  throw Error(ErrorCode::kCorrupt, "{}: {}; {}", path, why, remedy);
}

}  // namespace sluice::format
