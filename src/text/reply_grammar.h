#pragma once
#include "base/types.h"
#include "text/chat.h"
#include "text/chat_markup.h"
#include "text/reply.h"
#include "text/token_mask.h"
#include "text/tool_grammar.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// What a reply to one request may be, token by token: reasoning and answer as any text without
/// control tokens, the answer as JSON where a format is asked for, and the markup of the calls that
/// tool_choice allows, with arguments that keep the tools' schemas. Shared by the samples of a
/// request; not thread-safe.
class ReplyGrammar {
 public:
  /// The first two must outlive this. Throws Error(kInvalidInput) that begins with the field of the
  /// request for a schema that is refused: that of the response, or of a tool that is strict.
  ReplyGrammar(const Tokenizer& tokenizer, const TokenTree& tree, const ChatRequest& request);
  ReplyGrammar(const ReplyGrammar&) = delete;
  ReplyGrammar& operator=(const ReplyGrammar&) = delete;

  /// What does not restrict the reply although a tool's schema says so: messages that begin with
  /// the field.
  [[nodiscard]] const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  friend class ReplyConstraint;
  using Tokens = std::vector<TokenId>;

  using Attributes = std::initializer_list<ChatMarkup::Attribute>;

  Tokens opening(std::string_view tag, Attributes attributes = {}) const;
  Tokens closing(std::string_view tag) const;

  const Tokenizer& tokenizer_;
  bool calls_required_ = false, calls_parallel_ = true;
  std::vector<ToolGrammar> tools_;          // Those that may be called.
  std::unique_ptr<ValueGrammar> response_;  // Null: any text.
  std::vector<std::string> ignored_;
  TokenMask text_;     // All ordinary tokens.
  TokenMask scratch_;  // What mask() returned last.
};

/// One reply in the course of its tokens. A value: a copy goes on by itself, as long as the grammar
/// lives.
class ReplyConstraint {
 public:
  /// `start`: the channel that the prompt has opened; kMarkup for none.
  ReplyConstraint(ReplyGrammar& grammar, Channel start);

  /// The tokens that may come next, at least one. Lives until the next call on any constraint of
  /// the grammar.
  [[nodiscard]] const TokenMask& mask() const;

  /// The next token, one of mask().
  void push(TokenId id);

  /// The message has ended; only its last token may be repeated.
  [[nodiscard]] bool finished() const { return place_ == Place::kFinished; }

 private:
  enum class Place : uint8_t {
    kOutside,
    kThinking,
    kBeforeResponse,
    kResponse,
    kAfterResponse,
    kTools,
    kCall,
    kArgument,
    kJson,
    kAfterTools,
    kFinished
  };
  // Tokens of the format itself, and where they lead. With kCall and kArgument there is an index,
  // of the tool that is called or of the argument; without one, the call goes on.
  struct Phrase {
    static constexpr size_t kNone = SIZE_MAX;
    ReplyGrammar::Tokens tokens;
    Place place;
    size_t index = kNone, form = kNone;
  };

  void enter(const Phrase& phrase);
  void find_phrases();
  void find_calls();
  void find_arguments(const ToolGrammar& tool);
  [[nodiscard]] bool has_text() const;
  [[nodiscard]] bool text_may_end() const;

  ReplyGrammar* grammar_;
  Place place_ = Place::kOutside;
  bool response_is_empty_ = true;  // So far.
  size_t calls_ = 0;               // Begun so far.
  size_t tool_ = 0;                // Of the last call.
  std::vector<bool> written_;      // Its arguments that are there.
  bool wrote_json_ = false;        // In the last call.
  ValueGrammar* value_ = nullptr;  // Of the text under way; null where any will do.
  GrammarState state_;             // Of the value.
  std::vector<Phrase> phrases_;    // That may come here, or behind the text under way.
  size_t matched_ = 0;             // How many of their tokens have come.
};

}  // namespace sluice::text
