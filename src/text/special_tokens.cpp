#include "text/special_tokens.h"

#include "base/error.h"
#include "base/read_file.h"
#include "text/json_value.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace sluice::text {
namespace {

struct Named {
  uint32_t slot;
  std::string_view name;
};

constexpr Named kNames[] = {
    {0, "[BOS]"},
    {1, "[EOS]"},
    {2, "<|end_of_msg|>"},
    {3, "<|open|>"},
    {4, "<|close|>"},
    {5, "<|sep|>"},
    {6, "[start_header_id]"},
    {7, "[end_header_id]"},
    {9, "[EOT]"},
    {18, "<|media_begin|>"},
    {19, "<|media_content|>"},
    {20, "<|media_end|>"},
    {21, "<|media_pad|>"},
    {65, "<osagent_mode>"},
    {254, "[UNK]"},
    {255, "[PAD]"},
};

[[noreturn]] void corrupt(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorCode::kCorrupt, "{}: {}", file.string(), what);
}

// The names that the file gives, by slot.
void read_names(const std::filesystem::path& file, uint32_t first,
                std::vector<std::string>& names) {
  constexpr uint64_t kConfigBytesMax = 16u << 20;
  const FileText contents = read_file(file, kConfigBytesMax);
  if (!contents.trouble.empty())
    throw Error(ErrorCode::kIo, "{}: {}", file.string(), contents.trouble);
  const JsonParse parsed = parse_json(contents.text);
  if (!parsed.value) corrupt(file, parsed.error);
  const JsonValue* tokens = parsed.value->find("added_tokens_decoder");
  if (tokens == nullptr || tokens->kind != JsonValue::Kind::kObject) {
    corrupt(file, "no object \"added_tokens_decoder\"");
  }
  for (size_t i = 0; i < tokens->keys.size(); ++i) {
    const std::string& key = tokens->keys[i];
    uint32_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_number = error == std::errc{} && end == key.data() + key.size();
    if (!is_number || id < first || id - first >= SpecialTokens::kCount) {
      corrupt(file, fmt::format("added_tokens_decoder names token \"{}\", but the special tokens "
                                "beside these ranks are {} to {}",
                                key, first, first + SpecialTokens::kCount - 1));
    }
    const JsonValue* content = tokens->items[i].find("content");
    if (content == nullptr || content->kind != JsonValue::Kind::kString || content->text.empty()) {
      corrupt(file, fmt::format("added_tokens_decoder.{}: no text \"content\"", key));
    }
    names[id - first] = content->text;
  }
}

}  // namespace

SpecialTokens::SpecialTokens(const std::filesystem::path& folder, uint32_t first) : names_(kCount) {
  const std::filesystem::path file = folder / "tokenizer_config.json";
  if (std::filesystem::exists(file)) {
    read_names(file, first, names_);
  } else {
    for (const Named& named : kNames) names_[named.slot] = named.name;
  }
  const auto id_at = [first](uint32_t slot) { return TokenId{static_cast<int32_t>(first + slot)}; };
  std::set<size_t, std::greater<>> lengths;
  for (uint32_t slot = 0; slot < kCount; ++slot) {
    std::string& name = names_[slot];
    if (name.empty()) name = fmt::format("<|reserved_token_{}|>", first + slot);
    if (!id_of_.try_emplace(name, id_at(slot)).second) {
      corrupt(file, fmt::format("two special tokens are called {}", name));
    }
    lengths.insert(name.size());
    if (first_bytes_.find(name[0]) == std::string::npos) first_bytes_ += name[0];
  }
  lengths_.assign(lengths.begin(), lengths.end());
  ids_ = {.bos = id_at(0),
          .eos = id_at(1),
          .end_of_msg = id_at(2),
          .open = id_at(3),
          .close = id_at(4),
          .sep = id_at(5),
          .eot = id_at(9),
          .unk = id_at(254),
          .pad = id_at(255)};
}

std::optional<SpecialTokens::Match> SpecialTokens::find(std::string_view text, size_t from) const {
  for (size_t at = text.find_first_of(first_bytes_, from); at != std::string_view::npos;
       at = text.find_first_of(first_bytes_, at + 1)) {
    for (const size_t length : lengths_) {
      if (length > text.size() - at) continue;
      const auto found = id_of_.find(text.substr(at, length));
      if (found != id_of_.end()) return Match{at, found->second};
    }
  }
  return std::nullopt;
}

}  // namespace sluice::text
