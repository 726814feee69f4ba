#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace sluice::text {

/// Turns the arguments of one call, as the chat format has them, into the text of a JSON object
/// while they come. What the functions return, one after the other, is that text; each returns all
/// that is certain by then. Strings are escaped as they come. Values of other types are kept until
/// they end, then written verbatim, or as a string of the same text when they are not JSON.
///
/// A key that was written is not written again, since nothing can be taken back: of arguments with
/// one key the first counts.
class ArgumentsWriter {
 public:
  /// The next argument begins; one that is open ends. Left out after open_json() and for a key that
  /// was there before. `type` decides only whether it is "string".
  [[nodiscard]] std::string open_argument(std::string_view key, std::string_view type);

  /// All arguments follow as one text, which is passed on as it is, even when it is not JSON. Left
  /// out after an argument.
  [[nodiscard]] std::string open_json();

  /// The next text of what is open: whole characters. Ignored when nothing is.
  [[nodiscard]] std::string push(std::string_view text);

  /// What is open ends here.
  [[nodiscard]] std::string close_value();

  /// What is open was cut off: of a string there is what has come, of other types nothing.
  [[nodiscard]] std::string cut_value();

  /// The call has ended; nothing is open.
  [[nodiscard]] std::string end() const;

 private:
  enum class Value : uint8_t { kNone, kString, kBuffered, kWhole };
  [[nodiscard]] std::string member(std::string_view key);

  Value value_ = Value::kNone;
  bool is_whole_ = false;  // open_json() came first.
  bool written_ = false;   // Whether any text was returned.
  std::set<std::string, std::less<>> keys_;
  std::string key_, buffered_;  // Of kBuffered.
};

}  // namespace sluice::text
