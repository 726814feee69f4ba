#include "cli/bench_prompt.h"

#include "base/digest.h"
#include "base/error.h"
#include "cli/chat_prompt.h"
#include "cli/files.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kText =
    "The harbour had been built for ships that no longer came. On its northern side the "
    "warehouses stood empty, their doors chained, and grass grew between the rails on which "
    "cranes had once moved from one hull to the next. Every morning at six the keeper of the "
    "light walked down the pier, wrote the height of the water into a book, and looked for a "
    "while at the line where the sea met the sky. He had done so for thirty years. The figures "
    "filled eleven volumes, and nobody had ever asked for them, until one day in March a young "
    "engineer came with a letter, sat down at his table and began to read. Which of these "
    "tides, she wanted to know, had been the highest, how often had it come back, and what "
    "would the town look like if it rose by two metres more? ";

/// Ids that have no meaning, the same for every model with this vocabulary.
std::vector<TokenId> plain_ids(uint32_t vocab) {
  constexpr uint64_t kCount = 4096;
  std::vector<TokenId> ids;
  for (uint64_t i = 0; i < kCount; ++i) {
    ids.push_back(TokenId{static_cast<int32_t>(digest_of(kCount, i) % vocab)});
  }
  return ids;
}

}  // namespace

void declare_bench_prompt(OptionList& options, BenchPromptSettings& settings) {
  options.maybe({"prompt", "TEXT", "the text to run, repeated as often as its length asks for"},
                settings.text);
  options.describe_default("a text that is built in");
  options.maybe({"prompt-file", "FILE", "a file that holds it"}, settings.file);
  options.ids({"prompt-ids", "IDS", "the same as token ids, for example 1,2,3"}, settings.ids);
}

BenchPrompt bench_prompt(const BenchPromptSettings& settings, const std::string& folder,
                         uint32_t vocab) {
  const int given =
      (settings.text ? 1 : 0) + (settings.file ? 1 : 0) + (settings.ids.empty() ? 0 : 1);
  if (given > 1) {
    throw Error(ErrorCode::kInvalidInput,
                "give at most one of --prompt, --prompt-file and --prompt-ids; there are {}",
                given);
  }
  if (!settings.ids.empty()) return {"--prompt-ids", settings.ids};
  const std::optional<text::Tokenizer> tokenizer = open_tokenizer(folder);
  if (!tokenizer) {
    if (given == 0) return {"ids that are built in", plain_ids(vocab)};
    throw Error(ErrorCode::kNotFound,
                "{} has no tiktoken.model, so it takes no text: give --prompt-ids, or no prompt",
                folder);
  }
  check_vocabulary(*tokenizer, vocab, folder);
  BenchPrompt prompt;
  if (settings.text) {
    prompt = {"--prompt", tokenizer->encode(*settings.text)};
  } else if (settings.file) {
    prompt = {"--prompt-file " + *settings.file,
              tokenizer->encode(read_text("--prompt-file", *settings.file))};
  } else {
    prompt = {"a text that is built in", tokenizer->encode(std::string(kText))};
  }
  if (prompt.tokens.empty()) {
    throw Error(ErrorCode::kInvalidInput, "{}: the prompt is empty", prompt.source);
  }
  return prompt;
}

}  // namespace sluice::cli
