#include "server/reply_guide.h"

#include "server/reply_reader.h"
#include "text/chat_markup.h"
#include "text/reply_grammar.h"
#include "text/token_mask.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::server {
namespace {

using text::Channel;

/// A plain chat is the model's own affair; its replies are read leniently instead.
bool has_form(const text::ChatRequest& chat) {
  return chat.response_format != text::ResponseFormat::kText || !chat.signatures.empty() ||
         chat.tool_choice == text::ToolChoice::kRequired ||
         chat.tool_choice == text::ToolChoice::kNamed;
}

std::vector<TokenId> end_of_thinking(const text::Tokenizer& tokenizer) {
  text::ChatMarkup markup;
  markup.close("think");
  return text::encode_segments(tokenizer, markup.take());
}

class ReplyGuide final : public engine::TokenGuide {
 public:
  ReplyGuide(const ServedModel& model, const ReplyOrder& order)
      : reader_(order, model.tokenizer, {}),
        min_tokens_(order.min_tokens),
        vocab_(model.tokenizer.vocab_size()),
        own_(vocab_) {
    if (order.chat && has_form(*order.chat)) {
      grammar_.emplace(model.tokenizer, model.tree, *order.chat);
      constraint_.emplace(*grammar_, reader_.channel());
    }
    if (order.chat && order.thinking_budget) {
      budget_ = *order.thinking_budget;
      end_of_thinking_ = end_of_thinking(model.tokenizer);
    }
    endings_ = order.stop_ids;
    for (const TokenId id : model.tokenizer.special().ends()) endings_.push_back(id);
  }

  std::span<const uint64_t> allowed() override {
    if (forced_ == 0 && thinks_too_long()) forced_ = end_of_thinking_.size();
    if (forced_ > 0) {
      own_.forbid_all();
      own_.allow(end_of_thinking_[end_of_thinking_.size() - forced_]);
      return own_.words();
    }
    const std::span<const uint64_t> form =
        constraint_ ? constraint_->mask().words() : std::span<const uint64_t>();
    return reader_.tokens() < min_tokens_ ? without_endings(form) : form;
  }

  bool accept(TokenId token) override {
    if (forced_ > 0) --forced_;
    reader_.push(token);
    if (reader_.ended()) return false;
    if (constraint_) constraint_->push(token);
    return true;
  }

 private:
  [[nodiscard]] bool thinks_too_long() const {
    return budget_ && reader_.channel() == Channel::kReasoning &&
           reader_.reasoning_tokens() >= *budget_;
  }

  // A form that is complete ends all the same.
  std::span<const uint64_t> without_endings(std::span<const uint64_t> form) {
    words_.assign(form.begin(), form.end());
    if (form.empty()) words_.assign((vocab_ + 63) / 64, ~uint64_t{0});
    for (const TokenId id : endings_) {
      const auto bit = static_cast<size_t>(id.value);
      if (bit < vocab_) words_[bit / 64] &= ~(uint64_t{1} << (bit % 64));
    }
    const bool empty = std::ranges::all_of(words_, [](uint64_t word) { return word == 0; });
    return empty ? form : std::span<const uint64_t>(words_);
  }

  ReplyReader reader_;
  const uint32_t min_tokens_, vocab_;
  std::optional<text::ReplyGrammar> grammar_;
  std::optional<text::ReplyConstraint> constraint_;  // Refers to grammar_.
  std::optional<uint32_t> budget_;
  std::vector<TokenId> end_of_thinking_, endings_;
  size_t forced_ = 0;  // Tokens of end_of_thinking_ that are yet to come.
  text::TokenMask own_;
  std::vector<uint64_t> words_;
};

}  // namespace

std::unique_ptr<engine::TokenGuide> make_guide(const ServedModel& model, const ReplyOrder& order) {
  const bool has_budget = order.chat && order.thinking_budget;
  if (order.stops.empty() && order.min_tokens == 0 && !has_budget &&
      !(order.chat && has_form(*order.chat))) {
    return nullptr;
  }
  return std::make_unique<ReplyGuide>(model, order);
}

}  // namespace sluice::server
