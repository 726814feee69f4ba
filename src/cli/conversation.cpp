#include "cli/conversation.h"

#include "base/error.h"
#include "base/read_file.h"
#include "format/output_file.h"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Empty when the field is missing; nothing is thrown when it is no string, for the caller has
/// checked.
std::string text_of(const Json& message, const char* field) {
  const auto found = message.find(field);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_message(const Json& message) {
  if (!message.is_object()) return false;
  const std::string role = text_of(message, "role");
  const auto content = message.find("content");
  return (role == "system" || role == "user" || role == "assistant") && content != message.end() &&
         content->is_string();
}

}  // namespace

void save_conversation(const std::filesystem::path& path,
                       const std::vector<ChatMessage>& messages) {
  Json list = Json::array();
  for (const ChatMessage& message : messages) {
    Json entry = {{"role", message.role}, {"content", message.content}};
    if (!message.reasoning.empty()) entry["reasoning_content"] = message.reasoning;
    list.push_back(std::move(entry));
  }
  format::OutputFile file(path);
  // Texts come from tokens, so they may hold bytes that are no UTF-8; JSON cannot.
  file.write(
      Json{{"messages", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace));
  file.write("\n");
  file.commit();
}

std::vector<ChatMessage> load_conversation(const std::filesystem::path& path) {
  constexpr uint64_t kConversationBytesMax = 1u << 30;
  const FileText file = read_file(path, kConversationBytesMax);
  if (!file.trouble.empty()) {
    const bool exists = std::filesystem::exists(path);
    throw Error(exists ? ErrorCode::kIo : ErrorCode::kNotFound, "{}: {}", path.string(),
                file.trouble);
  }
  const Json parsed = Json::parse(file.text, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("messages") || !parsed["messages"].is_array()) {
    throw Error(ErrorCode::kInvalidInput, "{}: is not a conversation that /save wrote",
                path.string());
  }
  std::vector<ChatMessage> messages;
  for (const Json& message : parsed["messages"]) {
    if (!is_message(message)) {
      throw Error(ErrorCode::kInvalidInput,
                  "{}: message {} has no role of system, user or assistant, or no text",
                  path.string(), messages.size());
    }
    messages.push_back({text_of(message, "role"), text_of(message, "content"),
                        text_of(message, "reasoning_content")});
  }
  return messages;
}

}  // namespace sluice::cli
