#pragma once
#include "cli/chat_prompt.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::cli {

/// Writes {"messages": [...]} with the fields that chat programs use. Returns what went wrong, or
/// nothing.
[[nodiscard]] std::string save_conversation(const std::filesystem::path& path,
                                            const std::vector<ChatMessage>& messages);
/// Reads such a file into `messages`, which stay as they are when it returns what went wrong.
[[nodiscard]] std::string load_conversation(const std::filesystem::path& path,
                                            std::vector<ChatMessage>& messages);

}  // namespace sluice::cli
