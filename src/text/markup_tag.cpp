#include "text/markup_tag.h"

#include <algorithm>

namespace sluice::text {
namespace {

// The reverse of what the chat format does to the values of attributes; nothing else is escaped.
std::string unescape(std::string_view value) {
  constexpr std::string_view kAmpersand = "&amp;", kQuote = "&quot;";
  std::string text;
  while (!value.empty()) {
    if (value.starts_with(kAmpersand)) {
      text += '&';
      value.remove_prefix(kAmpersand.size());
    } else if (value.starts_with(kQuote)) {
      text += '"';
      value.remove_prefix(kQuote.size());
    } else {
      text += value.front();
      value.remove_prefix(1);
    }
  }
  return text;
}

}  // namespace

const std::string* MarkupTag::find(std::string_view key) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& attribute) { return attribute.first == key; });
  return found == attributes.end() ? nullptr : &found->second;
}

MarkupTag parse_markup_tag(std::string_view text) {
  const size_t name_end = std::min(text.find(' '), text.size());
  MarkupTag tag{std::string(text.substr(0, name_end)), {}};
  text.remove_prefix(name_end);
  while (true) {
    const size_t equals = text.find("=\"");
    if (equals == std::string_view::npos) break;
    const size_t value_begin = equals + 2;
    const size_t value_end = text.find('"', value_begin);
    if (value_end == std::string_view::npos) break;
    const std::string_view before = text.substr(0, equals);
    const std::string_view key = before.substr(before.rfind(' ') + 1);
    tag.attributes.emplace_back(key, unescape(text.substr(value_begin, value_end - value_begin)));
    text.remove_prefix(value_end + 1);
  }
  return tag;
}

}  // namespace sluice::text
