#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine {

/// Watches a stream of bytes for stop strings. Bytes that may still turn out to be the beginning of
/// one are held back, so that no part of a stop string is ever handed out.
class StopMatcher {
 public:
  /// Empty stop strings are refused: throws Error(kInvalidInput).
  explicit StopMatcher(std::vector<std::string> stops);

  /// Takes the next bytes and returns those that are certain to be before any stop string. The stop
  /// string that ends first ends the text; of several that end together, the longest. How the
  /// stream is cut into calls makes no difference.
  [[nodiscard]] std::string push(std::string_view bytes);
  /// The stream has ended: what was held back.
  [[nodiscard]] std::string flush();
  /// A stop string has been seen; nothing more comes out.
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// The stop string that ended the text; empty while there is none.
  [[nodiscard]] const std::string& stop() const { return stop_; }

 private:
  std::vector<std::string> stops_;
  std::string
      held_;  // The longest end of the stream that begins, but does not complete, a stop string.
  bool stopped_ = false;
  std::string stop_;
};

}  // namespace sluice::engine
