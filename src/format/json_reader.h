#pragma once
#include "format/damaged.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::format {

/// Reads one JSON text front to back without building a tree: the released index has 60 MB and half
/// a million members. Strict: RFC 8259, UTF-8, nothing but blanks around the value, at most
/// kDepthMax levels. Throws Error(kCorrupt) that names the path and the byte. The text must outlive
/// the reader; one thread.
///
/// Every container that is entered must be read to its end:
///   reader.enter_object();
///   while (const auto name = reader.next_member()) reader.skip();
class JsonReader {
 public:
  static constexpr uint32_t kDepthMax = 64;

  /// For messages: `first_byte` is where the text begins in the file, `remedy` what to do.
  JsonReader(std::string_view text, const std::string& path, uint64_t first_byte = 0,
             std::string_view remedy = kFetchAnew)
      : text_(text), path_(path), first_byte_(first_byte), remedy_(remedy) {}

  enum class Kind : uint8_t { kObject, kArray, kString, kNumber, kLiteral };
  /// What the next value is.
  [[nodiscard]] Kind peek();

  void enter_object();
  /// The name of the next member, whose value follows; nothing at the object's end. The view is
  /// valid until the next call.
  [[nodiscard]] std::optional<std::string_view> next_member();
  void enter_array();
  /// True when another element follows; false at the array's end.
  [[nodiscard]] bool next_element();

  /// A string without its escapes; valid until the next call.
  [[nodiscard]] std::string_view string();
  /// A number; nothing when it is negative, broken or does not fit 64 bits.
  [[nodiscard]] std::optional<uint64_t> number();
  /// Passes over any value.
  void skip();
  /// The value was the last thing in the text.
  void finish();

 private:
  [[noreturn]] void fail(std::string_view why) const;
  void skip_blanks();
  [[nodiscard]] char next_char();  // The next that is no blank; NUL at the end.
  void expect(char c);
  void enter(char open);
  [[nodiscard]] bool next_in(char close);
  void append_escape();
  [[nodiscard]] uint32_t hex4();
  void check_utf8();
  void digits();
  [[nodiscard]] std::string_view number_text();
  void skip_literal();

  const std::string_view text_;
  const std::string& path_;
  const uint64_t first_byte_;
  const std::string_view remedy_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  bool first_ = false;  // No member or element of the innermost container has been read.
  std::string unescaped_;
};

}  // namespace sluice::format
