#include "text/chat_markup.h"

#include "base/error.h"

namespace sluice::text {
namespace {

constexpr std::string_view kOpen = "<|open|>";
constexpr std::string_view kClose = "<|close|>";
constexpr std::string_view kSep = "<|sep|>";
constexpr std::string_view kEndOfMsg = "<|end_of_msg|>";

std::string escape_attribute(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

void ChatMarkup::open(std::string_view tag, std::initializer_list<Attribute> attributes) {
  add(kOpen, true);
  text(tag);
  for (const Attribute& attribute : attributes) {
    // A token could stretch over two of these if they were one segment.
    text(fmt::format(" {}", attribute.key));
    text("=\"");
    text(escape_attribute(attribute.value));
    text("\"");
  }
  add(kSep, true);
}

void ChatMarkup::close(std::string_view tag) {
  add(kClose, true);
  text(tag);
  add(kSep, true);
}

void ChatMarkup::open_message(std::string_view role, const std::string& name) {
  if (name.empty()) {
    open("message", {{"role", std::string(role)}});
  } else {
    open("message", {{"role", std::string(role)}, {"name", name}});
  }
}

void ChatMarkup::close_message() {
  close("message");
  add(kEndOfMsg, true);
}

void ChatMarkup::internal(std::string_view type, std::string_view body) {
  open("message", {{"role", "system"}, {"type", std::string(type)}});
  text(body);
  close_message();
}

void ChatMarkup::add(std::string_view text, bool control) {
  if (!text.empty()) segments_.push_back({std::string(text), control});
}

std::vector<TokenId> encode_segments(const Tokenizer& tokenizer,
                                     std::span<const ChatSegment> segments) {
  std::vector<TokenId> ids;
  for (const ChatSegment& segment : segments) {
    const std::vector<TokenId> part =
        tokenizer.encode(segment.text, segment.control ? Specials::kOn : Specials::kOff);
    if (segment.control && (part.size() != 1 || !tokenizer.is_special(part[0]))) {
      throw Error(ErrorCode::kUnsupported,
                  "the tokenizer of this checkpoint has no token {}, which the chat format needs; "
                  "use plain completion",
                  segment.text);
    }
    ids.insert(ids.end(), part.begin(), part.end());
  }
  return ids;
}

}  // namespace sluice::text
