#pragma once
#include "base/types.h"
#include "text/json_value.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

enum class Role : uint8_t { kSystem, kUser, kAssistant, kTool };

/// One argument of a call in the history.
struct ToolArgument {
  std::string key;
  std::string type;   ///< string, number, boolean, null, object or array.
  std::string value;  ///< A string's contents; of other types JSON as Python writes it.
};

/// A call that the assistant made in an earlier turn.
struct ToolCall {
  std::optional<std::string> id;
  std::string name;
  std::vector<ToolArgument> arguments;     ///< In the client's order.
  std::optional<std::string> broken_json;  ///< Arguments that are not JSON, verbatim, instead.
};

struct Message {
  Role role = Role::kUser;
  std::vector<std::string> content;         ///< Parts of text; each is tokenised alone.
  std::string name;                         ///< Of the speaker; empty for none.
  std::string reasoning;                    ///< kAssistant: what it thought before the answer.
  std::vector<ToolCall> tool_calls;         ///< kAssistant.
  std::optional<std::string> tool_call_id;  ///< kTool: which call this answers.
  std::optional<std::string> tool_name;     ///< kTool: used when tool_call_id matches no call.
  std::string
      tools;  ///< kSystem: a JSON array of tools that are declared here, instead of content.
};

/// How much the model shall think; kNone says nothing to it.
enum class Effort : uint8_t { kNone, kLow, kHigh, kMax };

enum class ToolChoice : uint8_t {
  kAuto,
  kNone,
  kRequired,
  kNamed,  ///< One call of one function, as OpenAI defines it. The chat format has no words for it;
           ///< only constrained sampling can obey.
};

enum class ResponseFormat : uint8_t { kText, kJsonObject, kJsonSchema };

/// A tool that the reply may call.
struct ToolSignature {
  std::string name;
  JsonValue parameters{};  ///< A JSON schema as the client sent it; null for none.
  bool strict = false;     ///< Calls must keep `parameters`, or the request be refused.
  std::string path{};      ///< Of `parameters`, such as tools[0].function.parameters.
};

/// A conversation and how it shall go on. JSON text in it is canonical: keys sorted, no spaces.
struct ChatRequest {
  std::vector<Message> messages;
  std::string tools;  ///< A JSON array, or empty.
  bool thinking = true;
  Effort effort = Effort::kMax;  ///< Matters while `thinking`.
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string tool_choice_name;  ///< Of kNamed.
  ResponseFormat response_format = ResponseFormat::kText;
  std::string schema;  ///< JSON, of kJsonSchema.
  /// What a reply has to keep is taken from these, since the order of keys matters there: the tools
  /// wherever they are declared, and the schema of kJsonSchema.
  std::vector<ToolSignature> signatures{};
  JsonValue schema_as_sent{};
  std::string schema_path{};        ///< What messages call it.
  bool parallel_tool_calls = true;  ///< A reply may have more calls than one.
  bool add_generation_prompt = true;
  /// The last message, of the assistant and without calls, is left open for the model to go on
  /// with.
  bool continue_final_message = false;
};

/// A part of a prompt that is tokenised alone.
struct ChatSegment {
  std::string text;
  bool
      control;  ///< The spelling of one control token, put there by the format; else ordinary text.
};

/// What messages call fields of a request that was made from one of another interface.
struct ChatNames {
  std::vector<std::string> tools{};        ///< By index, when they are not tools[0] and so on.
  std::string function = ".function";      ///< Behind tools[0] and tool_choice.
  std::string parameters = ".parameters";  ///< Behind the function.
  std::string schema = "response_format.json_schema.schema";
};

/// Reads a request of OpenAI's chat completions form: messages, tools, tool_choice,
/// parallel_tool_calls, response_format, reasoning_effort, thinking, chat_template_kwargs,
/// add_generation_prompt, continue_final_message. Other fields are somebody else's. An effort of
/// `minimal` means low and `xhigh` max, since the model knows low, high and max only; `medium` lies
/// between two of them and is refused; `none` switches thinking off. chat_template_kwargs come
/// before `thinking`, and that before reasoning_effort. Throws Error(kInvalidInput) that begins
/// with the field, such as messages[2].content[0].type, for whatever the chat format cannot say.
[[nodiscard]] ChatRequest parse_chat_request(const JsonValue& request, const ChatNames& names = {});
/// The same of its text.
[[nodiscard]] ChatRequest parse_chat_request(std::string_view json);

/// The prompt in Kimi K3's chat format; none of the segments is empty. Throws Error(kInvalidInput)
/// for a tool result whose tool nothing names.
[[nodiscard]] std::vector<ChatSegment> render_chat(const ChatRequest& request);

/// The tokens of the prompt: control segments as control tokens, all others with Specials::kOff,
/// each on its own. Throws what render_chat() and Tokenizer::encode() throw, and
/// Error(kUnsupported) when the tokenizer has no such control token.
[[nodiscard]] std::vector<TokenId> encode_chat(const Tokenizer& tokenizer,
                                               const ChatRequest& request);

/// How many of these tokens stand before the first message that is not the system's: what other
/// conversations of the same client may begin with, too. Throws what encode_chat() throws.
[[nodiscard]] size_t preamble_tokens(const Tokenizer& tokenizer, const ChatRequest& request);

}  // namespace sluice::text
