#pragma once
#include "text/synthetic_ranks.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

/// What several tests of this folder need.
namespace sluice::text {

/// A new folder that goes away with this.
class TempFolder {
 public:
  TempFolder() {
    std::random_device random;
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("sluice-text-{:08x}{:08x}", random(), random());
    std::filesystem::create_directory(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A tokenizer of the single bytes and then `words`.
inline Tokenizer make_tokenizer(std::span<const std::string> words,
                                const ChunkLimits& limits = {}) {
  std::vector<std::string> tokens = single_byte_tokens();
  tokens.insert(tokens.end(), words.begin(), words.end());
  const TempFolder folder;
  write_rank_file(folder.path() / "tiktoken.model", tokens);
  return Tokenizer(folder.path(), limits);
}

/// `count` words, each two earlier tokens, made from a few characters so that they often occur.
inline std::vector<std::string> random_words(std::mt19937_64& random, size_t count) {
  std::vector<std::string> parts = {"a", "b", " ", "'", "\n", "\xE6", "\xBC", "\xA2", "\xF0"};
  std::vector<std::string> words;
  while (words.size() < count) {
    const std::string word = parts[random() % parts.size()] + parts[random() % parts.size()];
    if (std::find(parts.begin(), parts.end(), word) != parts.end() || word.size() > 12) continue;
    parts.push_back(word);
    words.push_back(word);
  }
  return words;
}

inline void append_utf8(char32_t scalar, std::string& text) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (scalar >> shift & 0x3F)); };
  if (scalar < 0x80) {
    text += static_cast<char>(scalar);
  } else if (scalar < 0x800) {
    text += static_cast<char>(0xC0 | scalar >> 6);
    tail(0);
  } else if (scalar < 0x10000) {
    text += static_cast<char>(0xE0 | scalar >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | scalar >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

/// Well-formed text of `count` scalars from everywhere in Unicode, ASCII and Han more often.
inline std::string random_text(std::mt19937_64& random, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    constexpr char32_t kFirst[] = {0, 0, 0x20, 0x80, 0x4E00, 0};
    constexpr char32_t kLast[] = {0x7F, 0x7F, 0x27, 0x7FF, 0x4E10, 0x10FFFF};
    const size_t range = random() % std::size(kFirst);
    const auto scalar =
        static_cast<char32_t>(kFirst[range] + random() % (kLast[range] - kFirst[range] + 1));
    append_utf8(scalar >= 0xD800 && scalar < 0xE000 ? U'\u2028' : scalar, text);
  }
  return text;
}

inline std::vector<int32_t> values(std::span<const TokenId> ids) {
  std::vector<int32_t> plain;
  for (const TokenId id : ids) plain.push_back(id.value);
  return plain;
}

}  // namespace sluice::text
