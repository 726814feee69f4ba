// The sampling fields that OpenAI's interfaces share, and those that would have to be obeyed.
#include "server/fields.h"
#include "server/new_id.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>

#include <fmt/format.h>

namespace sluice::server {
namespace {

using text::JsonValue;
using Kind = JsonValue::Kind;

constexpr int64_t kTokensMax = std::numeric_limits<uint32_t>::max();

// Whether a client that sends this asks for something.
bool asks(const JsonValue& value) {
  switch (value.kind) {
    case Kind::kNull:
      return false;
    case Kind::kBoolean:
      return value.boolean;
    case Kind::kNumber:
      return value.text != "0" && value.text != "0.0";
    case Kind::kString:
      return !value.text.empty();
    case Kind::kArray:
    case Kind::kObject:
      break;
  }
  return !value.items.empty();
}

// What these ask for is not done, and an answer without it would not be the one that was meant.
void refuse_what_is_not_done(const Fields& fields) {
  struct Undone {
    std::string_view key, what;
  };
  constexpr std::string_view kUseResponseFormat = "is not supported; use response_format";
  constexpr Undone kUndone[] = {
      {"use_beam_search", "is not supported; replies are sampled"},
      {"bad_words", "is not supported; use logit_bias"},
      {"allowed_token_ids", "is not supported; use logit_bias"},
      {"logits_processors", "is not supported"},
      {"prompt_logprobs", "is not supported; only tokens of the reply have probabilities"},
      {"truncate_prompt_tokens", "is not supported; a prompt is never shortened"},
      {"structured_outputs", kUseResponseFormat},
      {"guided_json", kUseResponseFormat},
      {"guided_regex", kUseResponseFormat},
      {"guided_choice", kUseResponseFormat},
      {"guided_grammar", kUseResponseFormat},
      {"grammar", kUseResponseFormat},
      {"json_schema", kUseResponseFormat},
  };
  for (const Undone& undone : kUndone) {
    const JsonValue* value = fields.find(undone.key);
    if (value != nullptr && asks(*value)) fields.refuse(undone.key, undone.what);
  }
  if (!fields.boolean("skip_special_tokens").value_or(true)) {
    fields.refuse("skip_special_tokens", "must be true; control tokens are no part of a reply");
  }
}

void read_filters(const Fields& fields, engine::SamplingOptions& sampling) {
  const auto take = [&](std::string_view key, double least, double most, double& option) {
    option = fields.number(key, least, most).value_or(option);
  };
  take("temperature", 0, 2, sampling.temperature);
  take("top_p", 0, 1, sampling.top_p);
  if (sampling.top_p == 0) fields.refuse("top_p", "must be above 0");
  take("min_p", 0, 1, sampling.min_p);
  take("presence_penalty", -2, 2, sampling.presence_penalty);
  take("frequency_penalty", -2, 2, sampling.frequency_penalty);
  take("repetition_penalty", 0.01, 100, sampling.repetition_penalty);
  // Both -1 and 0 are in use for all tokens.
  const int64_t top_k =
      fields.integer("top_k", -1, std::numeric_limits<int32_t>::max()).value_or(0);
  sampling.top_k = static_cast<uint32_t>(std::max<int64_t>(top_k, 0));
  const auto seed = fields.integer("seed", std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<int64_t>::max());
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : random_seed();
}

void read_stops(const Fields& fields, uint32_t vocab, ReplyOrder& order) {
  order.stops = fields.strings("stop");
  if (std::ranges::any_of(order.stops, &std::string::empty)) {
    fields.refuse("stop", "must not be an empty text");
  }
  order.include_stop = fields.boolean("include_stop_str_in_output").value_or(false);
  order.stop_ids = fields.ids("stop_token_ids", vocab);
  order.ignore_eos = fields.boolean("ignore_eos").value_or(false);
}

std::vector<std::pair<TokenId, float>> read_logit_bias(const Fields& fields, uint32_t vocab) {
  const std::optional<Fields> bias = fields.object("logit_bias");
  if (!bias) return {};
  std::vector<std::pair<TokenId, float>> pairs;
  for (const std::string& key : fields.find("logit_bias")->keys) {
    uint32_t id = 0;
    const char* end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data(), end, id);
    if (error != std::errc() || stop != end || id >= vocab) {
      fields.refuse("logit_bias",
                    fmt::format("its keys must be token ids from 0 to {}", vocab - 1));
    }
    const std::optional<double> value = bias->number(key, -100, 100);
    if (value) {
      pairs.emplace_back(TokenId{static_cast<int32_t>(id)}, static_cast<float>(*value));
    }
  }
  return pairs;
}

}  // namespace

void read_sampling(const Fields& fields, uint32_t vocab, ReplyOrder& order) {
  constexpr int64_t kChoicesMax = 128;
  refuse_what_is_not_done(fields);
  read_filters(fields, order.sampling);
  read_stops(fields, vocab, order);
  order.logit_bias = read_logit_bias(fields, vocab);
  order.min_tokens = static_cast<uint32_t>(fields.integer("min_tokens", 0, kTokensMax).value_or(0));
  order.choices = static_cast<uint32_t>(fields.integer("n", 1, kChoicesMax).value_or(1));
  const std::optional<int64_t> best_of = fields.integer("best_of", 1, kChoicesMax);
  if (best_of && *best_of != order.choices) {
    fields.refuse("best_of", "must equal n; replies are not chosen from");
  }
}

void read_max_tokens(const Fields& fields, std::string_view key, ReplyOrder& order) {
  const auto most = fields.integer(key, 1, std::numeric_limits<int64_t>::max());
  if (!most) return;
  order.max_tokens = static_cast<uint32_t>(std::min(*most, kTokensMax));
  if (*most < order.min_tokens) fields.refuse("min_tokens", fmt::format("is above {}", key));
}

void check_vendor_sampling(const Fields& fields) {
  const auto only = [&](std::string_view key, std::initializer_list<double> allowed) {
    constexpr double kAny = 1e9;
    const std::optional<double> value = fields.number(key, -kAny, kAny);
    if (!value || std::ranges::find(allowed, *value) != allowed.end()) return;
    fields.refuse(key,
                  fmt::format("must be {}, since the server was started with --strict-sampling",
                              *allowed.begin()));
  };
  only("temperature", {1});
  only("top_p", {0.95, 1});
  only("n", {1});
  only("presence_penalty", {0});
  only("frequency_penalty", {0});
}

}  // namespace sluice::server
