// Requests of Anthropic's Messages form, turned into OpenAI's, which text::parse_chat_request()
// checks on.
#include "server/anthropic_request.h"

#include "server/chat_conversion.h"
#include "server/json.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::server {
namespace {

using text::JsonValue;
using Kind = JsonValue::Kind;

// The blocks of a string or an array; a string counts as one block of text.
template <class Take>
void for_each_block(const Fields& fields, std::string_view key, const Take& take) {
  const JsonValue* blocks = fields.find(key);
  if (blocks == nullptr || blocks->kind != Kind::kString) {
    return for_each_object(fields, key, take);
  }
  const JsonValue block = chat_text(blocks->text);
  take(Fields(block, fields.path(key)));
}

[[noreturn]] void refuse_type(const Fields& block, const std::string& type) {
  block.refuse("type", fmt::format("{} is not supported here; this server reads text only", type));
}

JsonValue text_parts(const Fields& fields, std::string_view key) {
  JsonValue parts = json_array();
  for_each_block(fields, key, [&](const Fields& block) {
    const std::string type = required_string(block, "type");
    if (type != "text") refuse_type(block, type);
    parts.items.push_back(chat_text(required_string(block, "text")));
  });
  return parts;
}

// The messages of OpenAI's form.
class Messages {
 public:
  // Claude Code puts a block about its build before the system prompt. It changes with every
  // request, so that no prompt would begin like the one before, and is not meant for the model.
  void add_system(const Fields& request) {
    JsonValue parts = text_parts(request, "system");
    std::erase_if(parts.items, [](const JsonValue& part) {
      return part.find("text")->text.starts_with("x-anthropic-billing-header:");
    });
    if (!parts.items.empty()) add("system", std::move(parts));
  }

  void add(const Fields& message) {
    const std::string role = required_string(message, "role");
    if (role == "user") return add_user(message);
    if (role == "assistant") return add_assistant(message);
    if (role == "system") return add("system", text_parts(message, "content"));
    message.refuse("role", "must be user, assistant or system");
  }

  std::vector<JsonValue> take() { return std::move(messages_); }

 private:
  void add(std::string_view role, JsonValue content) {
    messages_.push_back(json_object({{"role", role}, {"content", content}}));
  }

  // The results of tools come first, as they follow the calls.
  void add_user(const Fields& message) {
    JsonValue parts = json_array();
    bool has_results = false;
    for_each_block(message, "content", [&](const Fields& block) {
      const std::string type = required_string(block, "type");
      if (type == "text") {
        parts.items.push_back(chat_text(required_string(block, "text")));
      } else if (type == "tool_result") {
        has_results = true;
        add_result(block);
      } else {
        refuse_type(block, type);
      }
    });
    if (!has_results || !parts.items.empty()) add("user", std::move(parts));
  }

  void add_result(const Fields& block) {
    const std::string id = required_string(block, "tool_use_id");
    const auto tool = tools_.find(id);
    if (tool == tools_.end()) block.refuse("tool_use_id", "no tool_use before it has this id");
    JsonValue parts = text_parts(block, "content");
    // The chat format has no other place for it.
    if (block.boolean("is_error").value_or(false)) {
      parts.items.insert(parts.items.begin(), chat_text("Error: "));
    }
    messages_.push_back(json_object(
        {{"role", "tool"}, {"tool_call_id", id}, {"name", tool->second}, {"content", parts}}));
  }

  void add_assistant(const Fields& message) {
    std::string reasoning;
    JsonValue parts = json_array(), calls = json_array();
    for_each_block(message, "content", [&](const Fields& block) {
      const std::string type = required_string(block, "type");
      if (type == "text") {
        parts.items.push_back(chat_text(required_string(block, "text")));
      } else if (type == "thinking") {
        reasoning += required_string(block, "thinking");
      } else if (type == "tool_use") {
        calls.items.push_back(call(block));
      } else if (type != "redacted_thinking") {
        refuse_type(block, type);
      }
    });
    JsonValue assistant =
        json_object({{"role", "assistant"}, {"content", parts}, {"reasoning_content", reasoning}});
    if (!calls.items.empty()) add_member(assistant, {"tool_calls", calls});
    messages_.push_back(std::move(assistant));
  }

  JsonValue call(const Fields& block) {
    const std::string id = required_string(block, "id"), name = required_string(block, "name");
    if (name.empty()) block.refuse("name", "must be the name of a tool");
    tools_.insert_or_assign(id, name);
    const JsonValue* input = block.find("input");
    if (input != nullptr) static_cast<void>(block.object("input"));
    return json_object(
        {{"id", id},
         {"function",
          json_object({{"name", name}, {"arguments", input ? arguments(*input) : JsonValue()}})}});
  }

  // Arguments that were no JSON have come to the client as _raw.
  static JsonValue arguments(const JsonValue& input) {
    const JsonValue* raw = input.items.size() == 1 ? input.find("_raw") : nullptr;
    const bool was_broken =
        raw != nullptr && raw->kind == Kind::kString && !text::parse_json(raw->text).value;
    return was_broken ? *raw : input;
  }

  std::vector<JsonValue> messages_;
  std::map<std::string, std::string> tools_;  // By the ids of the calls so far.
};

JsonValue tool(const Fields& source) {
  const std::string type = source.string("type").value_or("custom");
  if (type != "custom") {
    source.refuse("type", fmt::format("{} is not supported; only tools of the type custom, which "
                                      "the client runs, are",
                                      type));
  }
  JsonValue function = json_object({});
  const std::pair<std::string_view, std::string_view> names[] = {{"name", "name"},
                                                                 {"description", "description"},
                                                                 {"input_schema", "parameters"},
                                                                 {"strict", "strict"}};
  for (const auto& [from, to] : names) {
    if (const JsonValue* value = source.find(from)) add_member(function, {to, *value});
  }
  return chat_function(std::move(function));
}

void add_tools(const Fields& request, JsonValue& chat) {
  JsonValue tools = json_array();
  for_each_object(request, "tools", [&](const Fields& one) { tools.items.push_back(tool(one)); });
  add_member(chat, {"tools", tools});
}

void add_tool_choice(const Fields& request, JsonValue& chat) {
  const std::optional<Fields> choice = request.object("tool_choice");
  if (!choice) return;
  const std::string type = required_string(*choice, "type");
  if (type == "auto" || type == "none") {
    add_member(chat, {"tool_choice", type});
  } else if (type == "any") {
    add_member(chat, {"tool_choice", "required"});
  } else if (type == "tool") {
    JsonValue function = json_object({{"name", required_string(*choice, "name")}});
    add_member(chat, {"tool_choice", chat_function(std::move(function))});
  } else {
    choice->refuse("type", "must be auto, any, tool or none");
  }
  const bool is_single = choice->boolean("disable_parallel_tool_use").value_or(false);
  add_member(chat, {"parallel_tool_calls", !is_single});
}

void add_thinking(const Fields& request, JsonValue& chat) {
  const std::optional<Fields> thinking = request.object("thinking");
  if (!thinking) return;
  const std::string type = required_string(*thinking, "type");
  if (type != "enabled" && type != "adaptive" && type != "disabled") {
    thinking->refuse("type", "must be enabled, adaptive or disabled");
  }
  add_member(chat, {"thinking", json_object({{"type", type == "disabled" ? type : "enabled"}})});
}

// Adds the format of `holder`, if it has one.
void add_format(const Fields& holder, std::string_view key, JsonValue& chat,
                text::ChatNames& names) {
  const std::optional<Fields> format = holder.object(key);
  if (!format) return;
  if (required_string(*format, "type") != "json_schema") {
    format->refuse("type", "must be json_schema");
  }
  const JsonValue* schema = format->find("schema");
  const JsonValue spec =
      json_object({{"name", "output"}, {"schema", schema ? *schema : JsonValue()}});
  add_member(chat,
             {"response_format", json_object({{"type", "json_schema"}, {"json_schema", spec}})});
  names.schema = format->path("schema");
}

// An answer that the last message begins is gone on with.
void add_continuation(const Fields& request, JsonValue& chat) {
  const JsonValue& last = chat.find("messages")->items.back();
  if (last.find("role")->text != "assistant") return;
  if (last.find("tool_calls") != nullptr) {
    request.refuse("messages", "the last one calls tools; their results must follow it");
  }
  for (const char* key : {"tools", "tool_choice", "response_format"}) {
    const JsonValue* value = chat.find(key);
    if (value == nullptr || (value->kind == Kind::kArray && value->items.empty())) continue;
    request.refuse("messages",
                   "the last one must be the user's when there are tools or an output format, "
                   "since an answer that has begun cannot be held to them");
  }
  add_member(chat, {"continue_final_message", true});
}

}  // namespace

text::ChatRequest read_messages(const Fields& request) {
  const JsonValue* sources = request.find("messages");
  if (sources == nullptr || sources->kind != Kind::kArray || sources->items.empty()) {
    request.refuse("messages", "must be an array of at least one message");
  }
  for (const char* key : {"container", "mcp_servers"}) {
    const JsonValue* value = request.find(key);
    if (value == nullptr || (value->kind == Kind::kArray && value->items.empty())) continue;
    request.refuse(key, "is not supported; this server runs no tools");
  }
  Messages messages;
  messages.add_system(request);
  for_each_object(request, "messages", [&](const Fields& message) { messages.add(message); });
  text::ChatNames names{.function = "", .parameters = ".input_schema"};
  JsonValue chat = json_object({{"messages", json_array(messages.take())}});
  add_tools(request, chat);
  add_tool_choice(request, chat);
  add_thinking(request, chat);
  add_format(request, "output_format", chat, names);
  if (const std::optional<Fields> config = request.object("output_config")) {
    if (const auto effort = read_effort(*config)) add_member(chat, {"reasoning_effort", *effort});
    if (chat.find("response_format") == nullptr) add_format(*config, "format", chat, names);
  }
  add_continuation(request, chat);
  return text::parse_chat_request(chat, names);
}

void read_message_options(const Fields& request, uint32_t vocab, ReplyOrder& order) {
  constexpr int64_t kMost = UINT32_MAX;
  constexpr uint32_t kMaxTokens = 4096;  // When a client names none.
  read_sampling(request, vocab, order);
  order.choices = 1;
  order.max_tokens = kMaxTokens;
  read_max_tokens(request, "max_tokens", order);
  order.stops = request.strings("stop_sequences");
  if (std::ranges::any_of(order.stops, &std::string::empty)) {
    request.refuse("stop_sequences", "must not hold an empty text");
  }
  if (const std::optional<Fields> thinking = request.object("thinking")) {
    const std::optional<int64_t> budget = thinking->integer("budget_tokens", 1, kMost);
    if (budget) order.thinking_budget = static_cast<uint32_t>(*budget);
  }
}

}  // namespace sluice::server
