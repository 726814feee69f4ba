#include "text/tokenizer.h"

#include "base/error.h"

namespace sluice::text {

Tokenizer::Tokenizer(const std::filesystem::path& folder, const ChunkLimits& limits)
    : ranks_(folder / "tiktoken.model"), specials_(folder, ranks_.size()), limits_(limits) {}

std::vector<TokenId> Tokenizer::encode(std::string_view text, Specials specials) const {
  std::vector<std::string_view> chunks;
  split_chunks(text, limits_, chunks);
  std::vector<TokenId> ids;
  Scratch scratch;
  for (const std::string_view chunk : chunks) {
    size_t at = 0;
    while (specials == Specials::kOn) {
      const auto match = specials_.find(chunk, at);
      if (!match) break;
      encode_ordinary(chunk.substr(at, match->begin - at), scratch, ids);
      ids.push_back(match->id);
      at = match->begin + bytes(match->id).size();
    }
    encode_ordinary(chunk.substr(at), scratch, ids);
  }
  return ids;
}

void Tokenizer::encode_ordinary(std::string_view text, Scratch& scratch,
                                std::vector<TokenId>& out) const {
  read_scalars(text, scratch.scalars);
  const size_t count = scratch.scalars.classes.size();
  for (size_t begin = 0; begin < count;) {
    const size_t end = piece_end(scratch.scalars, begin);
    ranks_.encode_piece(scratch.scalars.slice(begin, end), scratch.merges, out);
    begin = end;
  }
}

std::string_view Tokenizer::bytes(TokenId id) const {
  if (id.value < 0 || static_cast<uint32_t>(id.value) >= vocab_size()) {
    throw Error(ErrorCode::kInvalidInput, "token {} is outside the vocabulary of {} tokens",
                id.value, vocab_size());
  }
  const auto index = static_cast<uint32_t>(id.value);
  return index < ranks_.size() ? ranks_.bytes(index) : specials_.name(index - ranks_.size());
}

}  // namespace sluice::text
