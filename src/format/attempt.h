#pragma once
#include "base/error.h"

#include <optional>

namespace sluice::format {

/// Does something with one of several files that may serve, and returns what went wrong: here an
/// Error is a value, since another file may have the same bytes.
template <class Action>
[[nodiscard]] std::optional<Error> attempt(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace sluice::format
