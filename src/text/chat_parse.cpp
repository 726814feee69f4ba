// Requests of OpenAI's form, checked field by field.
#include "base/error.h"
#include "text/chat.h"
#include "text/json_value.h"
#include "text/unicode_classes.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::text {
namespace {

using Kind = JsonValue::Kind;

[[noreturn]] void refuse(const std::string& field, std::string_view what) {
  throw Error(ErrorCode::kInvalidInput, "{}: {}", field, what);
}

std::string at(const std::string& field, size_t index) {
  return fmt::format("{}[{}]", field, index);
}

// A member that is there and not null.
const JsonValue* member(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  return value == nullptr || value->kind == Kind::kNull ? nullptr : value;
}

const std::string* optional_string(const JsonValue& object, std::string_view key,
                                   const std::string& field) {
  const JsonValue* value = member(object, key);
  if (value == nullptr) return nullptr;
  if (value->kind != Kind::kString) refuse(fmt::format("{}.{}", field, key), "must be a string");
  return &value->text;
}

bool flag(const JsonValue& object, std::string_view key, const std::string& field, bool otherwise) {
  const JsonValue* value = member(object, key);
  if (value == nullptr) return otherwise;
  if (value->kind != Kind::kBoolean) refuse(field + std::string(key), "must be true or false");
  return value->boolean;
}

std::string canonical(JsonValue value) {
  sort_keys(value);
  return dump_json(value, JsonStyle::kCompact);
}

// The tag of a call carries the name, and the model must be able to write it back.
bool is_tool_name(std::string_view name) {
  constexpr size_t kMaxBytes = 256;
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && name.size() <= kMaxBytes && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

class RequestParser {
 public:
  RequestParser(const JsonValue& body, const ChatNames& names) : body_(body), names_(names) {}

  ChatRequest parse() {
    if (body_.kind != Kind::kObject) refuse("request", "must be a JSON object");
    for (const char* old : {"functions", "function_call"}) {
      if (member(body_, old) != nullptr) refuse(old, "is not supported; use tools and tool_choice");
    }
    if (const JsonValue* tools = member(body_, "tools"))
      request_.tools = parse_tools(*tools, "tools");
    parse_messages();
    parse_thinking();
    parse_tool_choice();
    parse_response_format();
    parse_ending();
    return std::move(request_);
  }

 private:
  // A list of tools, as the prompt shows it; empty when there are none.
  std::string parse_tools(const JsonValue& tools, const std::string& field) {
    if (tools.kind != Kind::kArray) refuse(field, "must be an array");
    for (size_t i = 0; i < tools.items.size(); ++i) {
      const JsonValue& tool = tools.items[i];
      const bool is_renamed = field == "tools" && i < names_.tools.size();
      const std::string place = is_renamed ? names_.tools[i] : at(field, i);
      if (tool.kind != Kind::kObject) refuse(place, "must be an object");
      const std::string* type = optional_string(tool, "type", place);
      if (type == nullptr || *type != "function") refuse(place + ".type", "must be \"function\"");
      const JsonValue* function = member(tool, "function");
      if (function == nullptr || function->kind != Kind::kObject) {
        refuse(place + names_.function, "must be an object");
      }
      const std::string function_place = place + names_.function;
      const std::string* name = optional_string(*function, "name", function_place);
      if (name == nullptr || !is_tool_name(*name)) {
        refuse(function_place + ".name",
               "must be 1 to 256 letters, digits, \"_\", \"-\" or \".\", a letter or \"_\" first");
      }
      if (!tool_names_.insert(*name).second) {
        refuse(function_place + ".name", fmt::format("a second tool called {}", *name));
      }
      request_.signatures.push_back(parse_signature(*name, *function, function_place));
    }
    return tools.items.empty() ? std::string() : canonical(tools);
  }

  ToolSignature parse_signature(const std::string& name, const JsonValue& function,
                                const std::string& field) const {
    ToolSignature signature{.name = name, .path = field + names_.parameters};
    signature.strict = flag(function, "strict", field + ".", false);
    if (const JsonValue* parameters = member(function, "parameters")) {
      if (parameters->kind != Kind::kObject) refuse(signature.path, "must be an object");
      signature.parameters = *parameters;
    }
    return signature;
  }

  void parse_messages() {
    const JsonValue* messages = member(body_, "messages");
    if (messages == nullptr || messages->kind != Kind::kArray || messages->items.empty()) {
      refuse("messages", "must be an array of at least one message");
    }
    for (size_t i = 0; i < messages->items.size(); ++i) {
      request_.messages.push_back(parse_message(messages->items[i], at("messages", i)));
    }
  }

  Message parse_message(const JsonValue& source, const std::string& field) {
    if (source.kind != Kind::kObject) refuse(field, "must be an object");
    Message message;
    message.role = parse_role(source, field);
    message.content = parse_content(source, field);
    if (const std::string* name = optional_string(source, "name", field)) message.name = *name;
    if (const JsonValue* tools = member(source, "tools")) {
      if (message.role != Role::kSystem)
        refuse(field + ".tools", "only system messages may declare tools");
      message.tools = parse_tools(*tools, field + ".tools");
      const bool has_content = std::any_of(message.content.begin(), message.content.end(),
                                           [](const std::string& part) { return !part.empty(); });
      if (!message.tools.empty() && has_content) {
        refuse(field + ".content", "must be empty in a message that declares tools");
      }
    }
    if (message.role == Role::kAssistant) parse_assistant(source, field, message);
    if (message.role == Role::kTool) parse_tool_result(source, field, message);
    return message;
  }

  static Role parse_role(const JsonValue& source, const std::string& field) {
    const std::string* role = optional_string(source, "role", field);
    if (role != nullptr) {
      if (*role == "system" || *role == "developer") return Role::kSystem;
      if (*role == "user") return Role::kUser;
      if (*role == "assistant") return Role::kAssistant;
      if (*role == "tool") return Role::kTool;
    }
    refuse(field + ".role", "must be system, developer, user, assistant or tool");
  }

  static std::vector<std::string> parse_content(const JsonValue& source, const std::string& field) {
    const JsonValue* content = member(source, "content");
    if (content == nullptr) return {};
    if (content->kind == Kind::kString) return {content->text};
    const std::string place = field + ".content";
    if (content->kind != Kind::kArray) refuse(place, "must be a string or an array of text parts");
    std::vector<std::string> parts;
    for (size_t i = 0; i < content->items.size(); ++i) {
      const JsonValue& part = content->items[i];
      if (part.kind != Kind::kObject) refuse(at(place, i), "must be an object");
      const std::string* type = optional_string(part, "type", at(place, i));
      if (type == nullptr || *type != "text") {
        refuse(at(place, i) + ".type", "must be \"text\"; this server reads text only");
      }
      const std::string* text = optional_string(part, "text", at(place, i));
      if (text == nullptr) refuse(at(place, i) + ".text", "must be a string");
      parts.push_back(*text);
    }
    return parts;
  }

  void parse_assistant(const JsonValue& source, const std::string& field, Message& message) {
    for (const char* key : {"reasoning_content", "reasoning"}) {
      const std::string* reasoning = optional_string(source, key, field);
      if (message.reasoning.empty() && reasoning != nullptr) message.reasoning = *reasoning;
    }
    if (member(source, "function_call") != nullptr) {
      refuse(field + ".function_call", "is not supported; use tool_calls");
    }
    const JsonValue* calls = member(source, "tool_calls");
    if (calls == nullptr) return;
    const std::string place = field + ".tool_calls";
    if (calls->kind != Kind::kArray) refuse(place, "must be an array");
    for (size_t i = 0; i < calls->items.size(); ++i) {
      message.tool_calls.push_back(parse_call(calls->items[i], at(place, i)));
    }
  }

  static ToolCall parse_call(const JsonValue& source, const std::string& field) {
    if (source.kind != Kind::kObject) refuse(field, "must be an object");
    // The name and arguments stand in "function", or beside the id.
    const JsonValue* nested = member(source, "function");
    const bool is_nested = nested != nullptr && nested->kind == Kind::kObject;
    const JsonValue& function = is_nested ? *nested : source;
    const std::string place = is_nested ? field + ".function" : field;
    ToolCall call;
    call.id = parse_id(source, "id", field);
    const std::string* name = optional_string(function, "name", place);
    if (name == nullptr || name->empty()) refuse(place + ".name", "must be the name of a tool");
    call.name = *name;
    if (const JsonValue* arguments = member(function, "arguments")) {
      parse_arguments(*arguments, place + ".arguments", call);
    }
    return call;
  }

  static void parse_arguments(const JsonValue& source, const std::string& field, ToolCall& call) {
    if (source.kind != Kind::kString) return set_arguments(source, field, call);
    if (is_python_blank(source.text)) return;
    const JsonParse parsed = parse_json(source.text);
    if (parsed.value) {
      set_arguments(*parsed.value, field, call);
    } else {
      call.broken_json = source.text;
    }
  }

  static void set_arguments(const JsonValue& object, const std::string& field, ToolCall& call) {
    if (object.kind != Kind::kObject) refuse(field, "must be a JSON object");
    for (size_t i = 0; i < object.keys.size(); ++i) {
      const JsonValue& value = object.items[i];
      call.arguments.push_back(
          {object.keys[i], type_name(value.kind),
           value.kind == Kind::kString ? value.text : dump_json(value, JsonStyle::kSpaced)});
    }
  }

  static const char* type_name(Kind kind) {
    switch (kind) {
      case Kind::kNull:
        return "null";
      case Kind::kBoolean:
        return "boolean";
      case Kind::kNumber:
        return "number";
      case Kind::kString:
        return "string";
      case Kind::kArray:
        return "array";
      case Kind::kObject:
        break;
    }
    return "object";
  }

  // Some clients number their calls.
  static std::optional<std::string> parse_id(const JsonValue& source, std::string_view key,
                                             const std::string& field) {
    const JsonValue* id = member(source, key);
    if (id == nullptr) return std::nullopt;
    if (id->kind != Kind::kString && id->kind != Kind::kNumber) {
      refuse(fmt::format("{}.{}", field, key), "must be a string");
    }
    return id->text;
  }

  static void parse_tool_result(const JsonValue& source, const std::string& field,
                                Message& message) {
    message.tool_call_id = parse_id(source, "tool_call_id", field);
    if (!message.tool_call_id) message.tool_call_id = parse_id(source, "id", field);
    if (!message.tool_call_id) {
      refuse(field + ".tool_call_id", "must say which tool call this is the result of");
    }
    const std::string* tool = optional_string(source, "tool", field);
    if (tool == nullptr) tool = optional_string(source, "name", field);
    if (tool != nullptr) message.tool_name = *tool;
  }

  void parse_thinking() {
    std::optional<std::string> effort;
    std::string effort_field;
    std::optional<bool> is_on;
    const auto take_effort = [&](const JsonValue& object, std::string_view key,
                                 std::string_view prefix) {
      const JsonValue* value = member(object, key);
      if (value == nullptr) return;
      effort_field = fmt::format("{}{}", prefix, key);
      if (value->kind != Kind::kString) refuse(effort_field, "must be a string");
      effort = value->text;
    };
    // The later ones win.
    take_effort(body_, "reasoning_effort", "");
    if (const JsonValue* thinking = member(body_, "thinking")) {
      if (thinking->kind != Kind::kObject) refuse("thinking", "must be an object");
      take_effort(*thinking, "effort", "thinking.");
      if (const std::string* type = optional_string(*thinking, "type", "thinking")) {
        if (*type != "enabled" && *type != "disabled") {
          refuse("thinking.type", "must be enabled or disabled");
        }
        is_on = *type == "enabled";
      }
    }
    if (const JsonValue* kwargs = member(body_, "chat_template_kwargs")) {
      const std::string field = "chat_template_kwargs";
      if (kwargs->kind != Kind::kObject) refuse(field, "must be an object");
      take_effort(*kwargs, "thinking_effort", field + ".");
      for (const char* key : {"enable_thinking", "thinking"}) {
        if (member(*kwargs, key) != nullptr) is_on = flag(*kwargs, key, field + ".", true);
      }
    }
    request_.thinking = is_on.value_or(!effort || *effort != "none");
    if (effort && *effort != "none") request_.effort = parse_effort(*effort, effort_field);
  }

  static Effort parse_effort(std::string_view effort, const std::string& field) {
    if (effort == "low" || effort == "minimal") return Effort::kLow;
    if (effort == "high") return Effort::kHigh;
    if (effort == "max" || effort == "xhigh") return Effort::kMax;
    refuse(field, "must be low, high or max, or none for no thinking");
  }

  void parse_tool_choice() {
    request_.parallel_tool_calls = flag(body_, "parallel_tool_calls", "", true);
    const JsonValue* choice = member(body_, "tool_choice");
    if (choice == nullptr) return;
    const char* expected =
        "must be auto, none, required or {\"type\":\"function\",\"function\":{\"name\":...}}";
    if (choice->kind == Kind::kObject) {
      const std::string* type = optional_string(*choice, "type", "tool_choice");
      const JsonValue* function = member(*choice, "function");
      if (type == nullptr || *type != "function" || function == nullptr ||
          function->kind != Kind::kObject) {
        refuse("tool_choice", expected);
      }
      const std::string* name = optional_string(*function, "name", "tool_choice.function");
      if (name == nullptr || !tool_names_.contains(*name)) {
        refuse("tool_choice" + names_.function + ".name", "must be the name of one of the tools");
      }
      request_.tool_choice = ToolChoice::kNamed;
      request_.tool_choice_name = *name;
    } else if (choice->text == "required") {
      if (tool_names_.empty()) refuse("tool_choice", "is required, but there are no tools");
      request_.tool_choice = ToolChoice::kRequired;
    } else if (choice->text == "none") {
      request_.tool_choice = ToolChoice::kNone;
    } else if (choice->text != "auto") {
      refuse("tool_choice", expected);
    }
  }

  void parse_response_format() {
    const JsonValue* format = member(body_, "response_format");
    if (format == nullptr) return;
    if (format->kind != Kind::kObject) refuse("response_format", "must be an object");
    const std::string* type = optional_string(*format, "type", "response_format");
    if (type != nullptr && *type == "text") return;
    if (type != nullptr && *type == "json_object") {
      request_.response_format = ResponseFormat::kJsonObject;
      return;
    }
    if (type == nullptr || *type != "json_schema") {
      refuse("response_format.type", "must be text, json_object or json_schema");
    }
    const std::string field = "response_format.json_schema";
    const JsonValue* spec = member(*format, "json_schema");
    if (spec == nullptr || spec->kind != Kind::kObject) refuse(field, "must be an object");
    const std::string* name = optional_string(*spec, "name", field);
    if (name == nullptr || name->empty()) refuse(field + ".name", "must be a string");
    static_cast<void>(flag(*spec, "strict", field + ".", false));
    const JsonValue* schema = member(*spec, "schema");
    if (schema == nullptr) schema = member(*spec, "json_schema");
    if (schema == nullptr || schema->kind != Kind::kObject)
      refuse(names_.schema, "must be an object");
    request_.response_format = ResponseFormat::kJsonSchema;
    request_.schema = canonical(*schema);
    request_.schema_as_sent = *schema;
    request_.schema_path = names_.schema;
  }

  void parse_ending() {
    request_.continue_final_message = flag(body_, "continue_final_message", "", false);
    request_.add_generation_prompt =
        flag(body_, "add_generation_prompt", "", !request_.continue_final_message);
    if (!request_.continue_final_message) return;
    const std::string field = "continue_final_message";
    const Message& last = request_.messages.back();
    if (request_.add_generation_prompt) refuse(field, "contradicts add_generation_prompt");
    if (last.role != Role::kAssistant || !last.tool_calls.empty()) {
      refuse(field, "the last message must be of the assistant and without tool_calls");
    }
    if (!tool_names_.empty() || request_.tool_choice != ToolChoice::kAuto ||
        request_.response_format != ResponseFormat::kText) {
      refuse(field, "cannot be used with tools, tool_choice or response_format");
    }
  }

  const JsonValue& body_;
  const ChatNames& names_;
  ChatRequest request_;
  std::set<std::string> tool_names_;  // Of all tools, wherever they are declared.
};

}  // namespace

ChatRequest parse_chat_request(const JsonValue& request, const ChatNames& names) {
  return RequestParser(request, names).parse();
}

ChatRequest parse_chat_request(std::string_view json) {
  const JsonParse parsed = parse_json(json);
  if (!parsed.value) refuse("request", parsed.error);
  return parse_chat_request(*parsed.value);
}

}  // namespace sluice::text
