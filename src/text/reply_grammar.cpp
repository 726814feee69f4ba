#include "text/reply_grammar.h"

#include "base/check.h"

#include <algorithm>
#include <iterator>

namespace sluice::text {
namespace {

std::unique_ptr<ValueGrammar> compile_response(const ChatRequest& request, const TokenTree& tree) {
  if (request.response_format == ResponseFormat::kText) return nullptr;
  JsonValue any_object{.kind = JsonValue::Kind::kObject, .keys = {"type"}};
  any_object.items.push_back({.kind = JsonValue::Kind::kString, .text = "object"});
  const bool has_schema = request.response_format == ResponseFormat::kJsonSchema;
  const JsonValue& schema = has_schema ? request.schema_as_sent : any_object;
  const std::string& path = request.schema_path;
  ByteGrammar grammar = compile_schema({schema, schema, path});
  check_satisfiable(grammar, path);
  return std::make_unique<ValueGrammar>(std::move(grammar), tree);
}

}  // namespace

ReplyGrammar::ReplyGrammar(const Tokenizer& tokenizer, const TokenTree& tree,
                           const ChatRequest& request)
    : tokenizer_(tokenizer),
      calls_required_(request.tool_choice == ToolChoice::kRequired ||
                      request.tool_choice == ToolChoice::kNamed),
      calls_parallel_(request.parallel_tool_calls && request.tool_choice != ToolChoice::kNamed),
      response_(compile_response(request, tree)),
      text_(tree.vocab_size()),
      scratch_(tree.vocab_size()) {
  for (const ToolSignature& signature : request.signatures) {
    const bool is_meant = request.tool_choice == ToolChoice::kNamed
                              ? signature.name == request.tool_choice_name
                              : request.tool_choice != ToolChoice::kNone;
    if (!is_meant) continue;
    tools_.push_back(compile_tool(signature, tree));
    std::move(tools_.back().ignored.begin(), tools_.back().ignored.end(),
              std::back_inserter(ignored_));
  }
  for (TokenId id{0}; id.value < static_cast<int32_t>(tree.vocab_size()); ++id.value) {
    if (!tokenizer.is_special(id)) text_.allow(id);
  }
}

ReplyGrammar::Tokens ReplyGrammar::opening(std::string_view tag, Attributes attributes) const {
  ChatMarkup markup;
  markup.open(tag, attributes);
  return encode_segments(tokenizer_, markup.take());
}

ReplyGrammar::Tokens ReplyGrammar::closing(std::string_view tag) const {
  ChatMarkup markup;
  markup.close(tag);
  return encode_segments(tokenizer_, markup.take());
}

ReplyConstraint::ReplyConstraint(ReplyGrammar& grammar, Channel start) : grammar_(&grammar) {
  constexpr Place kPlaces[] = {Place::kThinking, Place::kResponse, Place::kOutside};
  enter({.tokens = {}, .place = kPlaces[static_cast<size_t>(start)]});
}

void ReplyConstraint::enter(const Phrase& phrase) {
  place_ = phrase.place;
  value_ = nullptr;
  if (place_ == Place::kResponse) {
    value_ = grammar_->response_.get();
  } else if (place_ == Place::kCall && phrase.index != Phrase::kNone) {
    ++calls_;
    tool_ = phrase.index;
    written_.assign(grammar_->tools_[tool_].arguments.size(), false);
    wrote_json_ = false;
  } else if (place_ == Place::kArgument) {
    written_[phrase.index] = true;
    value_ = grammar_->tools_[tool_].arguments[phrase.index].forms[phrase.form].value.get();
  } else if (place_ == Place::kJson) {
    wrote_json_ = true;
    value_ = grammar_->tools_[tool_].json.get();
  }
  if (value_ != nullptr) state_ = value_->masks.start();
  phrases_.clear();
  matched_ = 0;
  find_phrases();
}

void ReplyConstraint::find_phrases() {
  const auto add = [&](ReplyGrammar::Tokens tokens, Place place) {
    phrases_.push_back({std::move(tokens), place});
  };
  const auto end_message = [&] {
    ReplyGrammar::Tokens tokens = grammar_->closing("message");
    tokens.push_back(grammar_->tokenizer_.special().end_of_msg);
    add(std::move(tokens), Place::kFinished);
  };
  const bool calls_required =
      grammar_->calls_required_ || (grammar_->response_ != nullptr && response_is_empty_);
  switch (place_) {
    case Place::kOutside:
      add(grammar_->opening("think"), Place::kThinking);
      return add(grammar_->opening("response"), Place::kResponse);
    case Place::kThinking:
      return add(grammar_->closing("think"), Place::kBeforeResponse);
    case Place::kBeforeResponse:
      return add(grammar_->opening("response"), Place::kResponse);
    case Place::kResponse:
      return add(grammar_->closing("response"), Place::kAfterResponse);
    case Place::kAfterResponse:
      if (!grammar_->tools_.empty()) add(grammar_->opening("tools"), Place::kTools);
      if (grammar_->tools_.empty() || !calls_required) end_message();
      return;
    case Place::kTools:
      if (calls_ == 0 || grammar_->calls_parallel_) find_calls();
      if (calls_ > 0) add(grammar_->closing("tools"), Place::kAfterTools);
      return;
    case Place::kCall:
      return find_arguments(grammar_->tools_[tool_]);
    case Place::kArgument:
      return add(grammar_->closing("argument"), Place::kCall);
    case Place::kJson:
      return add(grammar_->closing("json"), Place::kCall);
    case Place::kAfterTools:
      return end_message();
    case Place::kFinished:
      return add({grammar_->tokenizer_.special().end_of_msg}, Place::kFinished);
  }
}

void ReplyConstraint::find_calls() {
  for (size_t i = 0; i < grammar_->tools_.size(); ++i) {
    phrases_.push_back({grammar_->opening("call", {{"tool", grammar_->tools_[i].name},
                                                   {"index", std::to_string(calls_ + 1)}}),
                        Place::kCall, i});
  }
}

void ReplyConstraint::find_arguments(const ToolGrammar& tool) {
  bool may_end = tool.json == nullptr || !tool.json_required || wrote_json_;
  if (tool.json != nullptr && !wrote_json_) {
    phrases_.push_back({grammar_->opening("json", {{"type", "object"}}), Place::kJson});
  }
  for (size_t i = 0; i < tool.arguments.size(); ++i) {
    const ToolGrammar::Argument& argument = tool.arguments[i];
    if (written_[i]) continue;
    may_end = may_end && !argument.required;
    for (size_t form = 0; form < argument.forms.size(); ++form) {
      const std::string type(argument.forms[form].type);
      phrases_.push_back({grammar_->opening("argument", {{"key", argument.key}, {"type", type}}),
                          Place::kArgument, i, form});
    }
  }
  if (may_end) phrases_.push_back({grammar_->closing("call"), Place::kTools});
}

bool ReplyConstraint::has_text() const {
  return value_ != nullptr || place_ == Place::kThinking || place_ == Place::kResponse;
}

bool ReplyConstraint::text_may_end() const {
  if (value_ == nullptr || state_.may_end()) return true;
  // An answer of calls needs no text.
  return place_ == Place::kResponse && response_is_empty_ && !grammar_->tools_.empty();
}

const TokenMask& ReplyConstraint::mask() const {
  TokenMask& mask = grammar_->scratch_;
  const bool in_text = matched_ == 0 && has_text();
  if (in_text) {
    mask = value_ == nullptr ? grammar_->text_ : value_->masks.mask(state_);
  } else {
    mask.forbid_all();
  }
  if (in_text && !text_may_end()) return mask;
  for (const Phrase& phrase : phrases_) mask.allow(phrase.tokens[matched_]);
  return mask;
}

void ReplyConstraint::push(TokenId id) {
  const Tokenizer& tokenizer = grammar_->tokenizer_;
  if (matched_ == 0 && has_text()) {
    if (!tokenizer.is_special(id)) {
      if (place_ == Place::kResponse) response_is_empty_ = false;
      if (value_ != nullptr) state_ = value_->masks.advance(state_, tokenizer.bytes(id));
      SLUICE_CHECK(value_ == nullptr || !state_.is_dead());
      return;
    }
    SLUICE_CHECK(text_may_end());
  }
  std::erase_if(phrases_, [&](const Phrase& phrase) { return phrase.tokens[matched_] != id; });
  SLUICE_CHECK(!phrases_.empty());
  ++matched_;
  // Each ends with a control token that it has nowhere else, so none is the beginning of another.
  if (phrases_.front().tokens.size() == matched_) enter(Phrase(std::move(phrases_.front())));
}

}  // namespace sluice::text
