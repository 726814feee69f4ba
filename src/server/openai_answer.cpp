#include "server/openai_answer.h"

#include "server/json.h"
#include "server/new_id.h"
#include "text/incremental_decoder.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

namespace sluice::server {
namespace {

using text::JsonValue;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::vector<JsonValue> bytes_json(std::string_view bytes) {
  std::vector<JsonValue> numbers;
  for (const char byte : bytes) numbers.push_back(to_json(static_cast<uint8_t>(byte)));
  return numbers;
}

JsonValue token_logprob_json(const text::Tokenizer& tokenizer, TokenId token, float logprob) {
  return json_object({{"token", token_text(tokenizer, token)},
                      {"logprob", finite_logprob(logprob)},
                      {"bytes", json_array(bytes_json(tokenizer.bytes(token)))}});
}

}  // namespace

std::optional<Problem> wrong_model(const HandlerContext& context, const Fields& fields) {
  const std::optional<std::string> wanted = fields.string("model");
  const std::string& served = context.model.name;
  if (!context.strict_model || (wanted && *wanted == served)) return std::nullopt;
  return Problem{.status = 404,
                 .message = fmt::format("model: this server answers with {} only, not with \"{}\"",
                                        served, wanted.value_or("")),
                 .param = "model",
                 .code = "model_not_found"};
}

AnswerHead new_answer(const ServedModel& model, std::string_view prefix) {
  return {.id = new_id(prefix),
          .created = std::time(nullptr),
          .model = model.name,
          .fingerprint = model.fingerprint};
}

JsonValue answer_json(const AnswerHead& head, std::string_view object) {
  return json_object({{"id", head.id},
                      {"object", object},
                      {"created", head.created},
                      {"model", head.model},
                      {"system_fingerprint", head.fingerprint}});
}

AnswerForm read_form(const Fields& fields) {
  AnswerForm form{.stream = fields.boolean("stream").value_or(false),
                  .progress = fields.boolean("return_progress").value_or(false),
                  .token_ids = fields.boolean("return_token_ids").value_or(false)};
  if (const std::optional<Fields> options = fields.object("stream_options")) {
    form.usage = options->boolean("include_usage").value_or(false);
    form.continuous_usage =
        form.usage && options->boolean("continuous_usage_stats").value_or(false);
  }
  return form;
}

ReplyTally::ReplyTally(uint32_t choices_per_prompt, uint32_t prompts)
    : choices_per_prompt_(choices_per_prompt),
      open_(choices_per_prompt * prompts),
      choices_(open_) {}

void ReplyTally::take(const ReplyUpdate& update) {
  ReplyTotals& choice = choices_.at(update.choice);
  if (const auto* begun = std::get_if<ReplyBegun>(&update.what)) {
    choice.prompt = begun->prompt;
    choice.cached = begun->cached;
  } else if (const auto* seen = std::get_if<TokenSeen>(&update.what)) {
    ++choice.generated;
    if (seen->channel == text::Channel::kReasoning) ++choice.reasoning;
  } else if (const auto* ended = std::get_if<ReplyEnded>(&update.what)) {
    --open_;
    choice.generated = ended->generated;
    choice.reasoning = ended->reasoning;
    choice.prefill = ended->prefill;
    choice.decode = ended->decode;
  }
}

ReplyTotals ReplyTally::totals() const {
  ReplyTotals sum;
  for (size_t first = 0; first < choices_.size(); first += choices_per_prompt_) {
    // The others find the prompt in memory.
    sum.prompt += choices_[first].prompt;
    sum.cached += choices_[first].cached;
    sum.prefill += choices_[first].prefill;
    Nanos longest{};
    for (size_t i = first; i < first + choices_per_prompt_; ++i) {
      sum.generated += choices_[i].generated;
      sum.reasoning += choices_[i].reasoning;
      longest = std::max(longest, choices_[i].decode);
    }
    sum.decode += longest;
  }
  return sum;
}

JsonValue usage_json(const ReplyTotals& totals) {
  return json_object(
      {{"prompt_tokens", totals.prompt},
       {"completion_tokens", totals.generated},
       {"total_tokens", totals.prompt + totals.generated},
       {"prompt_tokens_details", json_object({{"cached_tokens", totals.cached}})},
       {"completion_tokens_details", json_object({{"reasoning_tokens", totals.reasoning}})}});
}

JsonValue timings_json(const ReplyTotals& totals) {
  const uint32_t run = totals.prompt - totals.cached;
  const double prompt_ms = to_milliseconds(totals.prefill),
               predicted_ms = to_milliseconds(totals.decode);
  return json_object({{"cache_n", totals.cached},
                      {"prompt_n", run},
                      {"prompt_ms", prompt_ms},
                      {"prompt_per_token_ms", ratio(prompt_ms, run)},
                      {"prompt_per_second", ratio(run * 1e3, prompt_ms)},
                      {"predicted_n", totals.generated},
                      {"predicted_ms", predicted_ms},
                      {"predicted_per_token_ms", ratio(predicted_ms, totals.generated)},
                      {"predicted_per_second", ratio(totals.generated * 1e3, predicted_ms)}});
}

std::string token_text(const text::Tokenizer& tokenizer, TokenId token) {
  text::IncrementalDecoder decoder;
  std::string text = decoder.push(tokenizer.bytes(token));
  return text += decoder.finish();
}

JsonValue logprob_json(const text::Tokenizer& tokenizer, const engine::TokenChosen& chosen) {
  JsonValue entry = token_logprob_json(tokenizer, chosen.token, chosen.logprob);
  std::vector<JsonValue> top;
  for (const engine::TokenLogprob& other : chosen.top) {
    top.push_back(token_logprob_json(tokenizer, other.token, other.logprob));
  }
  add_member(entry, {"top_logprobs", json_array(std::move(top))});
  return entry;
}

float finite_logprob(float logprob) { return std::max(logprob, -9999.0F); }

JsonValue ids_json(const std::vector<TokenId>& ids) {
  std::vector<JsonValue> numbers;
  for (const TokenId id : ids) numbers.push_back(to_json(id.value));
  return json_array(std::move(numbers));
}

void add_end(const ReplyEnded& ended, JsonValue& choice) {
  add_member(choice, {"finish_reason", text::finish_reason(ended.end, ended.calls)});
  JsonValue reason = ended.stop_id ? to_json(ended.stop_id->value) : JsonValue{};
  if (ended.end == text::ReplyEnd::kStopString) reason = to_json(ended.stop_string);
  add_member(choice, {"stop_reason", std::move(reason)});
}

ChunkStream::ChunkStream(HttpReply& reply, const AnswerHead& head, const AnswerForm& form,
                         const ReplyTally& tally, std::string_view object)
    : events_(reply), head_(head), form_(form), tally_(tally), object_(object) {}

JsonValue ChunkStream::chunk(JsonValue choice) const {
  JsonValue chunk = answer_json(head_, object_);
  add_member(chunk, {"choices", json_array({std::move(choice)})});
  const ReplyTotals totals = tally_.totals();
  if (form_.usage) {
    add_member(chunk, {"usage", form_.continuous_usage ? usage_json(totals) : JsonValue{}});
  }
  if (tally_.all_ended()) add_member(chunk, {"timings", timings_json(totals)});
  return chunk;
}

void ChunkStream::write(const JsonValue& chunk) { events_.data(json_text(chunk)); }

void ChunkStream::keep_alive(const engine::RequestProgress& progress) {
  events_.comment(progress.waiting ? fmt::format("waiting, {} ahead", progress.ahead)
                                   : std::string("keep-alive"));
}

void ChunkStream::write_progress(JsonValue choice, const engine::RequestProgress& progress) {
  if (!form_.progress) return;
  if (progress.waiting) return keep_alive(progress);  // There is no progress, but a place to tell.
  JsonValue chunk = this->chunk(std::move(choice));
  add_member(chunk, {"prompt_progress",
                     json_object({{"total", progress.rows_of},
                                  {"cache", tally_.totals().cached},
                                  {"processed", progress.rows},
                                  {"time_ms", std::chrono::duration_cast<std::chrono::milliseconds>(
                                                  std::chrono::steady_clock::now() - begun_)
                                                  .count()},
                                  {"seconds_left", progress.seconds_left}})});
  write(chunk);
}

void ChunkStream::end() {
  if (form_.usage) {
    JsonValue chunk = answer_json(head_, object_);
    add_member(chunk, {"choices", json_array()});
    add_member(chunk, {"usage", usage_json(tally_.totals())});
    write(chunk);
  }
  events_.data("[DONE]");
}

// The body ends as it should: of one that breaks off, browsers may drop what came last.
void ChunkStream::fail(const Problem& problem) {
  events_.data(problem_json(problem, Dialect::kOpenAi));
}

}  // namespace sluice::server
