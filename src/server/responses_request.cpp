// Requests of OpenAI's Responses form, turned into the chat form, which text::parse_chat_request()
// checks on.
#include "server/responses_request.h"

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

// The parts of a string or an array of parts of text.
JsonValue text_parts(const Fields& fields, std::string_view key) {
  const JsonValue* content = fields.find(key);
  if (content != nullptr && content->kind == Kind::kString) {
    return json_array({chat_text(content->text)});
  }
  JsonValue parts = json_array();
  for_each_object(fields, key, [&](const Fields& part) {
    const std::string type = required_string(part, "type");
    if (type == "refusal") {
      parts.items.push_back(chat_text(required_string(part, "refusal")));
    } else if (type == "input_text" || type == "output_text" || type == "text") {
      parts.items.push_back(chat_text(required_string(part, "text")));
    } else {
      part.refuse("type",
                  fmt::format("{} is not supported here; this server reads text only", type));
    }
  });
  return parts;
}

// The messages of the chat form. Items of one turn of the assistant make one message: reasoning,
// text and calls, in this order.
class Messages {
 public:
  void add(std::string_view role, JsonValue content) {
    end_turn();
    messages_.push_back(json_object({{"role", role}, {"content", content}}));
  }

  void add(const Fields& item) {
    const std::string type = item.string("type").value_or("message");
    if (type == "message") return add_message(item);
    if (type == "reasoning") return add_reasoning(item);
    if (type == "function_call") return add_call(item);
    if (type == "function_call_output") return add_output(item);
    item.refuse("type", fmt::format("{} is not supported; must be message, reasoning, "
                                    "function_call or function_call_output",
                                    type));
  }

  std::vector<JsonValue> take() {
    end_turn();
    return std::move(messages_);
  }

 private:
  struct Turn {
    std::string reasoning;
    std::optional<JsonValue> parts;
    std::vector<JsonValue> calls;
  };

  void add_message(const Fields& item) {
    const std::string role = required_string(item, "role");
    if (role == "user" || role == "system" || role == "developer") {
      return add(role, text_parts(item, "content"));
    }
    if (role != "assistant") item.refuse("role", "must be user, assistant, system or developer");
    if (turn_ && (turn_->parts || !turn_->calls.empty())) end_turn();
    turn().parts = text_parts(item, "content");
  }

  void add_reasoning(const Fields& item) {
    if (turn_ && (turn_->parts || !turn_->calls.empty())) end_turn();
    std::string reasoning;
    for (const char* key : {"content", "summary"}) {
      if (!reasoning.empty()) break;
      for_each_object(item, key,
                      [&](const Fields& part) { reasoning += part.string("text").value_or(""); });
    }
    const std::string kept = item.string("encrypted_content").value_or("");
    if (kept.starts_with(kReasoningPrefix)) reasoning = kept.substr(kReasoningPrefix.size());
    turn().reasoning += reasoning;
  }

  void add_call(const Fields& item) {
    const std::string id = required_string(item, "call_id");
    const std::string client_name = required_string(item, "name");
    if (client_name.empty()) item.refuse("name", "must be the name of a function");
    const std::string name =
        ResponseTools::chat_name(item.string("namespace").value_or(""), client_name);
    const std::string arguments = item.string("arguments").value_or("");
    const text::JsonParse parsed = text::parse_json(arguments);
    if (parsed.value && parsed.value->kind != Kind::kObject) {
      item.refuse("arguments", "must be the text of a JSON object");
    }
    names_.insert_or_assign(id, name);
    turn().calls.push_back(json_object(
        {{"id", id}, {"function", json_object({{"name", name}, {"arguments", arguments}})}}));
  }

  void add_output(const Fields& item) {
    const std::string id = required_string(item, "call_id");
    const auto name = names_.find(id);
    if (name == names_.end()) item.refuse("call_id", "no function_call before it has this id");
    end_turn();
    messages_.push_back(json_object({{"role", "tool"},
                                     {"tool_call_id", id},
                                     {"name", name->second},
                                     {"content", text_parts(item, "output")}}));
  }

  Turn& turn() {
    if (!turn_) turn_.emplace();
    return *turn_;
  }

  void end_turn() {
    if (!turn_) return;
    JsonValue message = json_object({{"role", "assistant"},
                                     {"content", turn_->parts.value_or(json_array())},
                                     {"reasoning_content", turn_->reasoning}});
    if (!turn_->calls.empty()) add_member(message, {"tool_calls", json_array(turn_->calls)});
    messages_.push_back(std::move(message));
    turn_.reset();
  }

  std::vector<JsonValue> messages_;
  std::optional<Turn> turn_;                  // Of the assistant, under way.
  std::map<std::string, std::string> names_;  // Of functions, by the ids of the calls so far.
};

void refuse_what_is_not_done(const Fields& request) {
  for (const char* key : {"previous_response_id", "conversation"}) {
    if (request.find(key) == nullptr) continue;
    request.refuse(key, "is not supported, since no responses are stored; send all items");
  }
  if (request.find("prompt") != nullptr) {
    request.refuse("prompt", "is not supported, since no prompts are stored; send input");
  }
  if (request.boolean("background").value_or(false)) {
    request.refuse("background", "is not supported; stream the response");
  }
}

JsonValue chat_messages(const Fields& request) {
  Messages messages;
  const std::string instructions = request.string("instructions").value_or("");
  if (!instructions.empty()) messages.add("system", to_json(instructions));
  const JsonValue* input = request.find("input");
  const bool is_text = input != nullptr && input->kind == Kind::kString;
  if (!is_text && (input == nullptr || input->items.empty())) {
    request.refuse("input", "must be a string or an array of at least one item");
  }
  if (is_text) {
    messages.add("user", *input);
  } else {
    for_each_object(request, "input", [&](const Fields& item) { messages.add(item); });
  }
  return json_array(messages.take());
}

void add_tool_choice(const Fields& request, JsonValue& chat) {
  const JsonValue* choice = request.find("tool_choice");
  if (choice == nullptr) return;
  if (choice->kind == Kind::kString) return add_member(chat, {"tool_choice", *choice});
  const Fields fields(*choice, "tool_choice");
  if (required_string(fields, "type") != "function") {
    fields.refuse("type", "must be function, or tool_choice be auto, none or required");
  }
  const std::string name = ResponseTools::chat_name(fields.string("namespace").value_or(""),
                                                    required_string(fields, "name"));
  add_member(chat, {"tool_choice", chat_function(json_object({{"name", name}}))});
}

// A JSON schema stands beside its name here, not in an object of its own.
void add_format(const Fields& request, JsonValue& chat) {
  const std::optional<Fields> text = request.object("text");
  const std::optional<Fields> format = text ? text->object("format") : std::nullopt;
  if (!format) return;
  const std::string type = required_string(*format, "type");
  if (type != "text" && type != "json_object" && type != "json_schema") {
    format->refuse("type", "must be text, json_object or json_schema");
  }
  JsonValue converted = json_object({{"type", type}});
  if (type == "json_schema") {
    JsonValue spec = json_object({{"name", required_string(*format, "name")}});
    if (const JsonValue* schema = format->find("schema")) add_member(spec, {"schema", *schema});
    add_member(converted, {"json_schema", spec});
  }
  add_member(chat, {"response_format", converted});
}

}  // namespace

bool includes(const Fields& request, std::string_view what) {
  const std::vector<std::string> wanted = request.strings("include");
  return std::ranges::find(wanted, what) != wanted.end();
}

text::ChatRequest read_response_chat(const Fields& request, const ResponseTools& tools) {
  refuse_what_is_not_done(request);
  JsonValue chat = json_object({{"messages", chat_messages(request)}});
  add_member(chat, {"tools", json_array(tools.chat_tools())});
  add_tool_choice(request, chat);
  if (const auto parallel = request.boolean("parallel_tool_calls")) {
    add_member(chat, {"parallel_tool_calls", *parallel});
  }
  if (const std::optional<Fields> reasoning = request.object("reasoning")) {
    if (const auto effort = read_effort(*reasoning))
      add_member(chat, {"reasoning_effort", *effort});
  }
  add_format(request, chat);
  return text::parse_chat_request(
      chat, {.tools = tools.paths(), .function = "", .schema = "text.format.schema"});
}

void read_response_options(const Fields& request, uint32_t vocab, ReplyOrder& order) {
  constexpr int64_t kTopMax = 20;
  read_sampling(request, vocab, order);
  order.choices = 1;
  read_max_tokens(request, "max_output_tokens", order);
  const int64_t top = request.integer("top_logprobs", 0, kTopMax).value_or(0);
  order.logprobs = includes(request, "message.output_text.logprobs");
  if (order.logprobs) order.top_logprobs = static_cast<uint32_t>(top);
}

}  // namespace sluice::server
