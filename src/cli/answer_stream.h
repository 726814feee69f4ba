#pragma once
#include "base/types.h"
#include "engine/stop_matcher.h"
#include "text/incremental_decoder.h"
#include "text/output_parser.h"
#include "text/reply.h"
#include "text/special_tokens.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

using text::Channel;

/// Turns generated tokens into the text to show while they come: whole characters only, no control
/// markers or calls of a chat reply, and nothing from a stop string on. Stop strings are looked for
/// in the answer, not in the reasoning.
class AnswerStream {
 public:
  using Show = std::function<void(Channel, std::string_view text)>;

  /// Throws Error(kInvalidInput) for a stop string that is empty or not UTF-8.
  AnswerStream(std::vector<std::string> stops, Show show);
  /// Takes chat replies apart; `start` is the channel that the prompt has opened.
  void expect_chat(const text::SpecialIds& ids, Channel start);
  [[nodiscard]] bool splits_channels() const { return parser_.has_value(); }

  /// False once a stop string has been seen; nothing is shown from there on.
  bool push(TokenId token, std::string_view bytes);
  /// The answer has ended: shows what was held back.
  void finish();
  /// Of the reasoning, or else of the answer, as far as it was shown.
  [[nodiscard]] const std::string& text(Channel channel) const;

 private:
  void take(const text::ReplyEvent& event);
  void take_answer(const std::string& text);
  void show(Channel channel, const std::string& text);

  engine::StopMatcher stops_;
  Show show_;
  std::optional<text::OutputParser> parser_;
  text::IncrementalDecoder decoder_;  // Without a parser.
  std::string reasoning_, answer_;
};

}  // namespace sluice::cli
