// Any bytes through the tokenizer and the decoder: valid text must survive, and no text may become
// a control token unless asked to.
#include "base/check.h"
#include "text/incremental_decoder.h"
#include "text/synthetic_ranks.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

using sluice::TokenId;
using sluice::text::IncrementalDecoder;
using sluice::text::Specials;
using sluice::text::Tokenizer;

Tokenizer make_tokenizer() {
  std::vector<std::string> tokens = sluice::text::single_byte_tokens();
  for (const char* word :
       {"  ",       "\n\n",         " t",       "th",       " th",      "he",      "the", " the",
        "'s",       "12",           "123",      "ab",       "abab",     "<|",      "|>",  "open",
        "\xE6\xBC", "\xE6\xBC\xA2", "\xF0\x9F", "\x9F\x99", "\xC3\xA9", "\x80\x80"}) {
    tokens.emplace_back(word);
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sluice-fuzz-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  sluice::text::write_rank_file(folder / "tiktoken.model", tokens);
  // Small limits, so that short inputs reach the cuts.
  Tokenizer tokenizer(folder, {.slice_scalars = 50, .run_scalars = 12});
  std::filesystem::remove_all(folder);
  return tokenizer;
}

void check_ids(const Tokenizer& tokenizer, std::string_view text, Specials specials) {
  std::string bytes;
  for (const TokenId id : tokenizer.encode(text, specials)) {
    SLUICE_CHECK(specials == Specials::kOn || !tokenizer.is_special(id));
    bytes += tokenizer.bytes(id);
  }
  SLUICE_CHECK(bytes == text);
}

// As if each token had `step` bytes.
std::string decode_in_parts(std::string_view bytes, size_t step) {
  IncrementalDecoder decoder;
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const std::string part = decoder.push(bytes.substr(at, step));
    SLUICE_CHECK(sluice::text::find_invalid_utf8(part) == std::string::npos);
    text += part;
  }
  return text + decoder.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer tokenizer = make_tokenizer();
  // The first byte says how the rest is cut.
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string text = decode_in_parts(bytes, 1 + data[0] % 7);
  SLUICE_CHECK(text == decode_in_parts(bytes, bytes.size() + 1));
  if (sluice::text::find_invalid_utf8(bytes) == std::string::npos) SLUICE_CHECK(text == bytes);
  // What is left after decoding is valid, so every input reaches the tokenizer.
  check_ids(tokenizer, text, Specials::kOff);
  check_ids(tokenizer, text, Specials::kOn);
  return 0;
}
