#pragma once
#include "base/types.h"
#include "engine/engine.h"
#include "server/fields.h"
#include "server/handler.h"
#include "server/http.h"
#include "server/problem.h"
#include "server/reply_run.h"
#include "server/reply_writer.h"
#include "server/served_model.h"
#include "text/json_value.h"
#include "text/tokenizer.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What answers of OpenAI's interfaces have in common.
namespace sluice::server {

/// A 404 when the server is strict about the `model` of a request and it is another one.
[[nodiscard]] std::optional<Problem> wrong_model(const HandlerContext& context,
                                                 const Fields& fields);

/// Of an answer and all its chunks.
struct AnswerHead {
  std::string id;
  int64_t created = 0;  ///< Seconds since 1970.
  std::string model, fingerprint;
};
/// `prefix`: of the id.
[[nodiscard]] AnswerHead new_answer(const ServedModel& model, std::string_view prefix);
/// An object that begins with it; `object` says what it is.
[[nodiscard]] text::JsonValue answer_json(const AnswerHead& head, std::string_view object);

/// How a client wants to see the reply.
struct AnswerForm {
  bool stream = false;
  bool usage = false;             ///< In a last chunk,
  bool continuous_usage = false;  ///< and in all others as far as it has come.
  bool progress = false;          ///< Chunks that tell how far the prompt has run.
  bool token_ids = false;         ///< Of prompt and reply.
  bool logprobs = false;
  uint32_t choices = 1;  ///< For each prompt.
};
/// Reads `stream`, `stream_options`, `return_progress` and `return_token_ids`.
[[nodiscard]] AnswerForm read_form(const Fields& fields);

/// Tokens of an answer, and time by the drives' clock.
struct ReplyTotals {
  uint32_t prompt = 0, cached = 0, generated = 0, reasoning = 0;
  Nanos prefill{}, decode{};
};

/// Adds up what an answer takes.
class ReplyTally {
 public:
  /// Choices count from 0, those of the first prompt first.
  explicit ReplyTally(uint32_t choices_per_prompt, uint32_t prompts = 1);

  void take(const ReplyUpdate& update);
  [[nodiscard]] bool all_ended() const { return open_ == 0; }
  /// So far. A prompt counts once, whatever its choices are; they run at one time.
  [[nodiscard]] ReplyTotals totals() const;

 private:
  uint32_t choices_per_prompt_;
  uint32_t open_;
  std::vector<ReplyTotals> choices_;
};

/// The object `usage` of completions and chat completions.
[[nodiscard]] text::JsonValue usage_json(const ReplyTotals& totals);
/// The object `timings`, as llama.cpp's server has it.
[[nodiscard]] text::JsonValue timings_json(const ReplyTotals& totals);

/// U+FFFD stands for bytes that are a part of a character only.
[[nodiscard]] std::string token_text(const text::Tokenizer& tokenizer, TokenId token);
/// One entry of `logprobs.content`.
[[nodiscard]] text::JsonValue logprob_json(const text::Tokenizer& tokenizer,
                                           const engine::TokenChosen& chosen);
/// JSON knows no infinity; the least is -9999.
[[nodiscard]] float finite_logprob(float logprob);
[[nodiscard]] text::JsonValue ids_json(const std::vector<TokenId>& ids);

/// Adds `finish_reason`, and as `stop_reason` the text or id that ended the choice if the client
/// asked for that.
void add_end(const ReplyEnded& ended, text::JsonValue& choice);

/// The chunks of a streamed answer.
class ChunkStream {
 public:
  /// `object`: what a chunk is. All must outlive this.
  ChunkStream(HttpReply& reply, const AnswerHead& head, const AnswerForm& form,
              const ReplyTally& tally, std::string_view object);

  void begin() { events_.begin(); }
  /// A chunk about one choice.
  [[nodiscard]] text::JsonValue chunk(text::JsonValue choice) const;
  void write(const text::JsonValue& chunk);
  void keep_alive(const engine::RequestProgress& progress);
  /// A chunk with a choice that says nothing and how far the prompt has run.
  void write_progress(text::JsonValue choice, const engine::RequestProgress& progress);
  void end();
  void fail(const Problem& problem);

 private:
  EventStream events_;
  const AnswerHead& head_;
  const AnswerForm& form_;
  const ReplyTally& tally_;
  std::string_view object_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace sluice::server
