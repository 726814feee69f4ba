#pragma once
#include "base/types.h"
#include "cli/reply.h"
#include "engine/stop_matcher.h"
#include "text/incremental_decoder.h"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// Turns generated tokens into the text to show while they come: whole characters only, no control
/// markers of a chat reply, and nothing from a stop string on. Stop strings are looked for in the
/// answer, not in the reasoning.
class AnswerStream {
 public:
  using Show = std::function<void(Channel, std::string_view text)>;

  AnswerStream(std::vector<std::string> stops, Show show);
  /// Takes chat replies apart; `start` is the channel that the prompt has opened.
  void expect_chat(ReplyMarkers markers, Channel start);
  [[nodiscard]] bool splits_channels() const { return splitter_.has_value(); }

  /// False once a stop string has been seen; nothing is shown from there on.
  bool push(TokenId token, std::string_view bytes);
  /// The answer has ended: shows what was held back.
  void finish();
  [[nodiscard]] const std::string& text(Channel channel) const;

 private:
  void decode(Channel channel, std::string_view bytes);
  void flush(Channel channel);
  void emit(Channel channel, const std::string& text);

  engine::StopMatcher stops_;
  Show show_;
  std::optional<ReplySplitter> splitter_;
  std::array<text::IncrementalDecoder, 2> decoders_;  // By channel.
  std::array<std::string, 2> texts_;
};

}  // namespace sluice::cli
