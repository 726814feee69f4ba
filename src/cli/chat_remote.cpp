#include "base/error.h"
#include "cli/answer.h"
#include "cli/chat_partner.h"
#include "cli/terminal.h"
#include "server/http_client.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

// Streams show a sign of life more often than that.
constexpr Nanos kPatience = std::chrono::minutes(10);

Json request_of(std::span<const ChatMessage> messages, const std::string& effort,
                const AnswerSettings& settings) {
  Json list = Json::array();
  for (const ChatMessage& message : messages) {
    Json entry = {{"role", message.role}, {"content", message.content}};
    if (!message.reasoning.empty()) entry["reasoning_content"] = message.reasoning;
    list.push_back(std::move(entry));
  }
  const engine::SamplingOptions& sampling = settings.sampling;
  Json request = {{"messages", std::move(list)},
                  {"stream", true},
                  {"reasoning_effort", effort},
                  {"max_tokens", settings.max_new},
                  {"temperature", sampling.temperature},
                  {"top_k", sampling.top_k},
                  {"top_p", sampling.top_p},
                  {"min_p", sampling.min_p},
                  {"repetition_penalty", sampling.repetition_penalty},
                  {"presence_penalty", sampling.presence_penalty},
                  {"frequency_penalty", sampling.frequency_penalty},
                  {"seed", sampling.seed},
                  {"ignore_eos", settings.ignore_eos}};
  if (!settings.stop_strings.empty()) request["stop"] = settings.stop_strings;
  for (const TokenId id : settings.stop_ids) request["stop_token_ids"].push_back(id.value);
  return request;
}

/// Reads the events of a chat completion.
class AnswerEvents {
 public:
  explicit AnswerEvents(AnswerStream::Show show) : show_(std::move(show)) {}

  void take(std::string_view part) {
    received_ += part;
    size_t end = 0;
    while ((end = received_.find('\n')) != std::string::npos) {
      take_line(std::string_view(received_).substr(0, end));
      received_.erase(0, end + 1);
    }
  }

  ChatAnswer answer{};
  bool done = false;    ///< The last event has come.
  std::string error{};  ///< What the server said instead.

 private:
  void take_line(std::string_view line) {
    constexpr std::string_view kData = "data: ";
    if (!line.starts_with(kData)) return;
    line.remove_prefix(kData.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line == "[DONE]") {
      done = true;
      return;
    }
    const Json event = Json::parse(line, nullptr, false);
    if (!event.is_object()) return;
    if (event.contains("error")) error = event["error"].value("message", "an error");
    for (const Json& choice : event.value("choices", Json::array())) {
      const Json delta = choice.value("delta", Json::object());
      take_text(delta, "reasoning_content", Channel::kReasoning, answer.reasoning);
      take_text(delta, "content", Channel::kContent, answer.content);
    }
  }

  void take_text(const Json& delta, const char* field, Channel channel, std::string& to) {
    const auto found = delta.find(field);
    if (found == delta.end() || !found->is_string()) return;
    const std::string text = found->get<std::string>();
    if (text.empty()) return;
    to += text;
    show_(channel, text);
  }

  AnswerStream::Show show_;
  std::string received_;
};

class RemotePartner final : public ChatPartner {
 public:
  RemotePartner(const std::string& url, const std::string& key, const AnswerSettings& settings)
      : url_(url), address_(server::parse_address(url)), settings_(settings) {
    headers_.emplace_back("Content-Type", "application/json");
    if (!key.empty()) headers_.emplace_back("Authorization", "Bearer " + key);
    // Clients are often given the address with this, which is part of the path here.
    if (address_.path.ends_with("/v1")) address_.path.resize(address_.path.size() - 3);
  }

  ChatAnswer answer(std::span<const ChatMessage> messages, const std::string& effort,
                    const Write& write) override {
    const InterruptGuard interrupt;
    AnswerEvents events(show_on_terminal(write));
    std::string body;  // Of an error.
    const int status = server::http_post(
        address_,
        {.path = "/v1/chat/completions",
         .headers = headers_,
         .body = request_of(messages, effort, settings_)
                     .dump(-1, ' ', false, Json::error_handler_t::replace)},
        [&](std::string_view part) {
          if (body.size() < kErrorBytesMax) body += part;
          events.take(part);
          return true;
        },
        interrupt.flag(), kPatience);
    events.answer.stopped = interrupt.flag();
    if (events.answer.stopped) return events.answer;
    if (status != 200) return {.refusal = refusal(status, body)};
    if (!events.error.empty()) throw Error(ErrorCode::kIo, "{}: {}", url_, events.error);
    if (!events.done) throw Error(ErrorCode::kIo, "{}: the answer broke off", url_);
    return events.answer;
  }

 private:
  static constexpr size_t kErrorBytesMax = size_t{64} << 10;

  [[nodiscard]] std::string refusal(int status, const std::string& body) const {
    const Json parsed = Json::parse(body, nullptr, false);
    const bool told = parsed.is_object() && parsed.contains("error") && parsed["error"].is_object();
    const std::string message = told ? parsed["error"].value("message", "") : body;
    return fmt::format("{}: status {}: {}{}", url_, status, message,
                       status == 401 ? " (give it with --api-key)" : "");
  }

  const std::string url_;
  server::HttpAddress address_;
  const AnswerSettings settings_;
  server::HttpHeaders headers_;
};

}  // namespace

std::unique_ptr<ChatPartner> open_remote_partner(const std::string& url, const std::string& key,
                                                 const AnswerSettings& settings) {
  if (settings.stats || !settings.read_trace_file.empty()) {
    throw Error(ErrorCode::kInvalidInput,
                "--stats and --read-trace need the model here; a server shows them on its page");
  }
  return std::make_unique<RemotePartner>(url, key, settings);
}

}  // namespace sluice::cli
