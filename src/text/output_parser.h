#pragma once
#include "base/types.h"
#include "text/arguments_writer.h"
#include "text/incremental_decoder.h"
#include "text/markup_tag.h"
#include "text/reply.h"
#include "text/special_tokens.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::text {

/// Takes a chat reply apart while its tokens come. Structure is recognised by token id alone, so
/// markers that the model spells with ordinary tokens are text. Whatever a model writes is
/// accepted:
///   - a channel or a call that begins ends the one before; tags that are unknown or out of place
///     are ignored, and so is text outside of channels and arguments;
///   - a call without a name is ignored, with its arguments; an argument without a key is, too;
///   - after the end of the message nothing counts.
/// Not thread-safe.
class OutputParser {
 public:
  using Sink = std::function<void(const ReplyEvent&)>;

  /// `start`: the channel that the prompt has opened, kMarkup for none. `sink` gets the events
  /// during push() and finish().
  OutputParser(const SpecialIds& ids, Channel start, Sink sink);

  /// Takes the next token and returns the channel that it belongs to. `bytes` are those of
  /// Tokenizer::bytes(id). The text of a token that ends inside a character comes with a later one.
  Channel push(TokenId id, std::string_view bytes);

  /// The reply ends here, whether the model meant it to or was cut off. Ends what is open: of an
  /// argument that is a string there is what has come, an open argument of another type is left
  /// out, and so is an incomplete tag.
  void finish();

 private:
  enum class State : uint8_t { kReasoning, kContent, kCall, kOutside, kEnded };
  struct Header {  // The tag under way.
    bool opens;
    std::string bytes;
  };

  void emit(ReplyEvent::Kind kind, std::string text);
  void take_text(std::string text);
  void end_header();
  void open(const MarkupTag& tag);
  void close(const MarkupTag& tag);
  void enter(State state);
  void begin_call(const MarkupTag& tag);
  void end_call();

  const SpecialIds ids_;
  const Sink sink_;
  State state_;
  std::optional<Header> header_;
  IncrementalDecoder decoder_;  // Of the text between two tags.
  std::string thought_;         // The text of the reasoning since it was last entered.
  size_t call_ = 0;             // The index of the call under way, or else of the next.
  ArgumentsWriter arguments_;   // Of the call under way.
};

}  // namespace sluice::text
