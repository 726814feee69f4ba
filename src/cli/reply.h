#pragma once
#include "base/types.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::cli {

/// Which part of a chat reply a text belongs to.
enum class Channel : uint8_t { kReasoning, kAnswer };

/// The control tokens that structure a reply.
struct ReplyMarkers {
  TokenId open, close, separator;
};

/// Takes the tokens of a chat reply apart. Structure is recognised by token id alone, so markers
/// that the model spells out in its answer stay part of the answer.
class ReplySplitter {
 public:
  /// `start`: the channel that the prompt has opened. `show` receives the bytes of each token that
  /// belongs to a channel, and empty bytes when a channel ends.
  ReplySplitter(ReplyMarkers markers, Channel start,
                std::function<void(Channel, std::string_view)> show);

  void push(TokenId token, std::string_view bytes);

 private:
  enum class State : uint8_t { kReasoning, kAnswer, kOutside, kOpening, kClosing };
  void enter(State state);

  const ReplyMarkers markers_;
  const std::function<void(Channel, std::string_view)> show_;
  State state_;
  std::string tag_;  // Of the header being read: the bytes between its markers.
};

}  // namespace sluice::cli
