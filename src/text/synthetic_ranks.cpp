#include "text/synthetic_ranks.h"

#include "base/base64.h"
#include "base/error.h"
#include "text/special_tokens.h"

#include <cstddef>
#include <fstream>
#include <string_view>

namespace sluice::text {
std::vector<std::string> single_byte_tokens() {
  const auto is_printable = [](int byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
  };
  std::vector<std::string> tokens;
  for (const bool printable : {true, false}) {
    for (int byte = 0; byte < 256; ++byte) {
      if (is_printable(byte) == printable) tokens.emplace_back(1, static_cast<char>(byte));
    }
  }
  return tokens;
}

void write_rank_file(const std::filesystem::path& path, std::span<const std::string> tokens) {
  std::ofstream file(path, std::ios::binary);
  for (size_t rank = 0; rank < tokens.size(); ++rank) {
    file << encode_base64(tokens[rank]) << ' ' << rank << '\n';
  }
  file.close();
  if (!file) throw Error(ErrorCode::kIo, "{}: cannot be written", path.string());
}

void write_synthetic_rank_file(const std::filesystem::path& file, uint32_t vocab_size) {
  constexpr uint32_t kMin = 256 + SpecialTokens::kCount;
  if (vocab_size < kMin) {
    throw Error(ErrorCode::kInvalidInput, "a vocabulary of {} tokens is too small; {} is the least",
                vocab_size, kMin);
  }
  // The commoner letters of English come first, so that small vocabularies are of some use.
  constexpr std::string_view kLetters = "etaoinshrdlcumwfgypbvkjxqz";
  std::vector<std::string> tokens = single_byte_tokens();
  // Words in order of length: the stems are the space and the letters, then the words themselves.
  std::vector<std::string> stems = {" "};
  for (const char letter : kLetters) stems.emplace_back(1, letter);
  const size_t count = vocab_size - SpecialTokens::kCount;
  for (size_t stem = 0; tokens.size() < count; ++stem) {
    for (size_t i = 0; i < kLetters.size() && tokens.size() < count; ++i) {
      tokens.push_back(stems[stem] + kLetters[i]);
      stems.push_back(tokens.back());
    }
  }
  write_rank_file(file, tokens);
}

}  // namespace sluice::text
