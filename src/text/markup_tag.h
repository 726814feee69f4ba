#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::text {

/// What a reply has between <|open|> or <|close|> and <|sep|>, for instance
///   argument key="city" type="string"
struct MarkupTag {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  ///< Unescaped, in order.

  /// The first value of an attribute; null when there is none.
  [[nodiscard]] const std::string* find(std::string_view key) const;
};

/// Reads what it can: models write tags, so an attribute that is malformed is left out.
[[nodiscard]] MarkupTag parse_markup_tag(std::string_view text);

}  // namespace sluice::text
