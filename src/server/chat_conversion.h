#pragma once
#include "server/fields.h"
#include "text/json_value.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// What turning requests of other interfaces into OpenAI's chat form takes. All of it throws
/// Error(kInvalidInput) that begins with the field.
namespace sluice::server {

/// A part of a message's content.
[[nodiscard]] text::JsonValue chat_text(const std::string& text);

/// As `tools` and `tool_choice` have it.
[[nodiscard]] text::JsonValue chat_function(text::JsonValue function);

[[nodiscard]] std::string required_string(const Fields& fields, std::string_view key);

/// The objects of an array, which may be absent.
void for_each_object(const Fields& fields, std::string_view key,
                     const std::function<void(const Fields&)>& take);

/// The field `effort` as the chat form takes it. Clients of other interfaces send `medium` without
/// being told to, so it is taken for `high`.
[[nodiscard]] std::optional<std::string> read_effort(const Fields& fields);

}  // namespace sluice::server
