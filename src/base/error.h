#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace sluice {

/// The kind of an Error; the command line maps each to an exit code.
enum class ErrorCode : uint8_t {
  kInvalidInput,  ///< An option, prompt, id or request that cannot be right.
  kNotFound,      ///< A file, folder or tensor that does not exist.
  kCorrupt,       ///< A file whose contents contradict themselves or each other.
  kIo,            ///< The operating system could not read or write.
  kOutOfMemory,   ///< Does not fit the memory budget.
  kUnsupported,   ///< A valid file or option that this build does not implement.
  kCancelled,     ///< The user stopped it.
};

/// Ends one operation: program start, a generation, or a command of the conversation. Caught where
/// those begin, nowhere else. Outcomes that a caller acts on (a failed read, a miss) are values
/// instead. The text says what, where (file, tensor, drive, field or option) and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& what) : std::runtime_error(what), code_(code) {}

  /// Formats as fmt::format does.
  template <class... Args>
  Error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args)
      : Error(code, fmt::format(format, std::forward<Args>(args)...)) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace sluice
