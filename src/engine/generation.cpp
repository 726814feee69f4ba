#include "engine/generation.h"

#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <utility>

namespace sluice::engine {

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  SLUICE_CHECK(false);
  return {};
}

Generation::Generation(GenerateRequest request, uint32_t length, uint32_t context)
    : request_(std::move(request)),
      tokens_(request_.prompt),
      seen_(request_.earlier),
      first_position_(length),
      context_(context) {
  check_sampling(request_.sampling);
  if (tokens_.empty()) throw Error(ErrorCode::kInvalidInput, "the prompt has no tokens");
  if (length + tokens_.size() > context) {
    throw Error(
        ErrorCode::kInvalidInput,
        "the sequence holds {} tokens and the prompt adds {}, but the context has room for {}; "
        "shorten the prompt or raise the context",
        length, tokens_.size(), context);
  }
  seen_.insert(seen_.end(), tokens_.begin(), tokens_.end());
  if (request_.max_new == 0) {
    finish(FinishReason::kLength);
  } else if (length + tokens_.size() == context) {
    finish(FinishReason::kContext);
  }
}

std::span<const TokenId> Generation::next_rows(uint32_t rows_max) const {
  const std::span<const TokenId> all(tokens_);
  // The last token of a finished answer runs only when somebody asked for it; the prompt always
  // does.
  const size_t end = chosen_all_ && !request_.run_last && tokens_.size() > request_.prompt.size()
                         ? tokens_.size() - 1
                         : tokens_.size();
  return all.subspan(run_, std::min<size_t>(rows_max, end - run_));
}

bool Generation::wants_logits(uint32_t rows) const {
  return !chosen_all_ && run_ + rows == tokens_.size();
}

std::optional<TokenId> Generation::advance(uint32_t rows, std::span<const float> last_logits) {
  const bool wanted = wants_logits(rows);
  run_ += rows;
  SLUICE_CHECK(rows > 0 && run_ <= tokens_.size());
  if (!wanted) return std::nullopt;
  choose(last_logits);
  return tokens_.back();
}

void Generation::choose(std::span<const float> logits) {
  const uint64_t position = first_position_ + tokens_.size();
  const TokenId token = sample(logits, request_.sampling, {seen_, generated()}, position);
  tokens_.push_back(token);
  if (std::ranges::find(request_.stop_ids, token) != request_.stop_ids.end()) {
    finish(FinishReason::kStop);
  } else if (generated().size() == request_.max_new) {
    finish(FinishReason::kLength);
  } else if (first_position_ + tokens_.size() == context_) {
    finish(FinishReason::kContext);
  }
}

void Generation::finish(FinishReason reason) {
  chosen_all_ = true;
  reason_ = reason;
}

uint32_t Generation::prompt_rows_run() const {
  return static_cast<uint32_t>(std::min(run_, request_.prompt.size()));
}

std::span<const TokenId> Generation::generated() const {
  return std::span<const TokenId>(tokens_).subspan(request_.prompt.size());
}

}  // namespace sluice::engine
