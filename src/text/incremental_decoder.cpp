#include "text/incremental_decoder.h"

#include "text/utf8.h"

#include <utility>

namespace sluice::text {

std::string IncrementalDecoder::push(std::string_view bytes) {
  held_ += bytes;
  const std::string_view rest = held_;
  std::string text;
  size_t at = 0;
  while (at < rest.size()) {
    const Utf8Step step = first_scalar(rest.substr(at));
    if (step.kind == Utf8Step::Kind::kIncomplete) break;
    text += step.kind == Utf8Step::Kind::kScalar ? rest.substr(at, step.length) : kReplacement;
    at += step.length;
  }
  held_.erase(0, at);
  return text;
}

std::string IncrementalDecoder::finish() {
  return std::exchange(held_, {}).empty() ? std::string() : std::string(kReplacement);
}

std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  IncrementalDecoder decoder;
  std::string text;
  for (const TokenId id : ids) text += decoder.push(tokenizer.bytes(id));
  return text + decoder.finish();
}

}  // namespace sluice::text
