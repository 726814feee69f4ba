#pragma once
#include "base/types.h"
#include "engine/sampler.h"
#include "text/chat.h"
#include "text/reply.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::server {

/// What is to be generated, whichever interface asks for it.
struct ReplyOrder {
  std::vector<TokenId> prompt;
  /// Others that get as many choices each, numbered behind those of the prompts before.
  std::vector<std::vector<TokenId>> more_prompts{};
  /// The conversation that `prompt` was made of, whose tools and response format the reply keeps;
  /// nothing: the prompt is a text that is continued, and everything is content.
  std::optional<text::ChatRequest> chat{};
  std::optional<uint32_t> max_tokens{};  ///< Nothing, or too many: what the context has room for.
  uint32_t min_tokens = 0;
  uint32_t choices = 1;
  engine::SamplingOptions sampling{.temperature = 1.0};
  std::vector<std::string> stops{};  ///< Texts that end the content, and are not part of it.
  bool include_stop = false;         ///< They are part of it.
  std::vector<TokenId> stop_ids{};
  bool ignore_eos = false;
  std::vector<std::pair<TokenId, float>> logit_bias{};
  std::optional<uint32_t> thinking_budget{};  ///< Tokens of reasoning; then it is ended.
  bool logprobs = false;                      ///< Each token comes with its probability
  uint32_t top_logprobs = 0;                  ///< and those of the most probable ones.

  /// Choices of all prompts.
  [[nodiscard]] uint32_t replies() const {
    return choices * (1 + static_cast<uint32_t>(more_prompts.size()));
  }
};

/// The channel that the prompt of a chat leaves open.
[[nodiscard]] text::Channel opened_channel(const text::ChatRequest& chat);

}  // namespace sluice::server
