#pragma once
#include "cli/chat_prompt.h"

#include <filesystem>
#include <vector>

namespace sluice::cli {

/// Writes {"messages": [...]} with the fields that chat programs use; see format::OutputFile.
void save_conversation(const std::filesystem::path& path, const std::vector<ChatMessage>& messages);
/// Reads such a file. Throws Error that names it and what is wrong: kInvalidInput, or kNotFound and
/// kIo when it cannot be read.
[[nodiscard]] std::vector<ChatMessage> load_conversation(const std::filesystem::path& path);

}  // namespace sluice::cli
