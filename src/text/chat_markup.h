#pragma once
#include "text/chat.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::text {

/// The elements of the chat format, as segments.
class ChatMarkup {
 public:
  struct Attribute {
    std::string_view key;
    std::string value;
  };

  void text(std::string_view text) { add(text, false); }
  void open(std::string_view tag, std::initializer_list<Attribute> attributes = {});
  void close(std::string_view tag);

  void open_message(std::string_view role, const std::string& name);
  void close_message();
  /// A system message of the format itself.
  void internal(std::string_view type, std::string_view body);

  [[nodiscard]] std::vector<ChatSegment> take() { return std::move(segments_); }

 private:
  void add(std::string_view text, bool control);

  std::vector<ChatSegment> segments_;
};

/// The tokens of segments, as encode_chat() has them. Throws what it throws.
[[nodiscard]] std::vector<TokenId> encode_segments(const Tokenizer& tokenizer,
                                                   std::span<const ChatSegment> segments);

}  // namespace sluice::text
