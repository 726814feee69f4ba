#pragma once
#include "base/types.h"
#include "engine/engine.h"
#include "server/problem.h"
#include "server/reply_order.h"
#include "server/served_model.h"
#include "text/reply.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace sluice::server {

/// What happens to a choice, in this order; tokens come before the text that they complete.
struct ReplyBegun {
  uint32_t prompt = 0, cached = 0;  ///< Tokens.
};
struct TokenSeen {
  engine::TokenChosen chosen;
  text::Channel channel{};  ///< kMarkup too for the token that ends the reply.
};
struct ReplyEnded {
  text::ReplyEnd end{};
  std::string stop_string{};         ///< Of kStopString.
  std::optional<TokenId> stop_id{};  ///< The token that ended it, unless it is the model's own.
  uint32_t calls = 0;                ///< Of tools.
  uint32_t generated = 0, reasoning = 0;  ///< Tokens; the ending one is counted.
  Nanos queued{}, prefill{}, decode{};
};
struct ReplyFailed {
  Problem problem;
};
struct ReplyUpdate {
  uint32_t choice = 0;
  std::variant<ReplyBegun, TokenSeen, text::ReplyEvent, ReplyEnded, ReplyFailed> what;
};

/// The generation of one or more replies to a prompt. Dropping it cancels it. One thread.
class ReplyRun {
 public:
  /// Submits the order. Throws Error(kInvalidInput) that begins with the field for a schema or an
  /// option that cannot be. When the prompt does not fit the context, or there is no place in the
  /// queue, it sets `problem` and returns nothing.
  [[nodiscard]] static std::optional<ReplyRun> start(const ServedModel& model, ReplyOrder order,
                                                     Problem& problem);
  ReplyRun(ReplyRun&&) noexcept;
  ReplyRun& operator=(ReplyRun&&) noexcept;
  ~ReplyRun();

  /// What happened next; waits for it for at most `timeout`.
  [[nodiscard]] std::optional<ReplyUpdate> next(Nanos timeout);
  /// Every choice has ended or failed, and next() has told.
  [[nodiscard]] bool over() const;
  [[nodiscard]] engine::RequestProgress progress() const;
  [[nodiscard]] const ReplyOrder& order() const;

 private:
  struct Impl;
  explicit ReplyRun(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::server
