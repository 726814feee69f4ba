#pragma once
#include "base/error.h"

#include <functional>
#include <string>

namespace sluice {

/// For tests: what the Error says that `action` throws, or "accepted".
[[nodiscard]] inline std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace sluice
