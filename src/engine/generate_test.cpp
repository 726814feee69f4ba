// Without these tests prefill chunks, cancelling or a second sequence could change what a request
// gets.
#include "engine/generate.h"

#include "base/error.h"
#include "format/synthetic_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

std::vector<TokenId> tokens(std::initializer_list<int32_t> ids) {
  std::vector<TokenId> out;
  for (const int32_t id : ids) out.push_back(TokenId{id});
  return out;
}

class Generate : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("sluice-generate-" + std::to_string(getpid()));
    format::SyntheticShape shape = format::SyntheticShape::tiny();
    shape.set_layers(6);
    format::write_synthetic_checkpoint(folder_, shape, {.overwrite = true, .progress = {}});
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  static model::LoadedModel load(uint32_t prefill_rows) {
    model::LoadOptions options;
    options.threads = 1;
    options.memory_bytes = 256u << 20;
    options.prefill_rows = prefill_rows;
    options.context = 64;
    options.sequences = 2;
    options.logits_of_every_row = true;
    return model::LoadedModel(folder_, options);
  }
  static GenerateRequest request(std::vector<TokenId> prompt, uint32_t max_new) {
    return {.prompt = std::move(prompt), .max_new = max_new};
  }
  static inline std::filesystem::path folder_;
  static inline const std::atomic<bool> kNeverCancel{false};
};

TEST_F(Generate, ChunksOfThePromptChangeNothing) {
  std::vector<TokenId> ids;
  std::vector<float> logits;
  for (const uint32_t rows : {5u, 1u, 2u, 3u, 16u}) {
    model::LoadedModel loaded = load(rows);
    const auto state = loaded.make_state();
    std::vector<float> seen;
    GenerateCallbacks callbacks;
    callbacks.on_logits = [&](std::span<const float> more) {
      seen.insert(seen.end(), more.begin(), more.end());
    };
    GenerateRequest wanted = request(tokens({5, 9, 200, 17, 3}), 6);
    wanted.run_last = true;
    const GenerateResult result =
        generate(loaded, *state, std::move(wanted), callbacks, kNeverCancel);
    ASSERT_EQ(seen.size(), size_t{5 + 6} * loaded.shape().vocab);
    EXPECT_EQ(result.reason, FinishReason::kLength);
    if (ids.empty()) {
      ids = result.generated;
      logits = seen;
    }
    EXPECT_EQ(result.generated, ids) << rows << " rows";
    EXPECT_EQ(seen, logits) << rows << " rows";
  }
}

TEST_F(Generate, TellsHowFarThePromptIsAndWhenItIsDone) {
  model::LoadedModel loaded = load(2);
  const auto state = loaded.make_state();
  std::vector<uint32_t> done;
  std::vector<uint32_t> lengths;
  GenerateCallbacks callbacks;
  callbacks.on_prompt_progress = [&](uint32_t rows, uint32_t total) {
    EXPECT_EQ(total, 5u);
    done.push_back(rows);
  };
  callbacks.on_prompt_done = [&] { lengths.push_back(state->length()); };
  const GenerateResult result =
      generate(loaded, *state, request(tokens({5, 9, 200, 17, 3}), 4), callbacks, kNeverCancel);
  EXPECT_EQ(done, (std::vector<uint32_t>{2, 4, 5}));
  EXPECT_EQ(lengths, std::vector<uint32_t>{5});
  EXPECT_EQ(state->length(), 5u + 3u);
  EXPECT_EQ(result.stats.prefill.tokens, 5u);
  EXPECT_EQ(result.stats.prefill.passes, 3u);
  EXPECT_EQ(result.stats.decode.tokens, 3u);
  EXPECT_EQ(result.stats.decode.passes, 3u);
  EXPECT_GT(result.stats.prefill.reading.streamer.expert_misses, 0u);
}

TEST_F(Generate, TheCallerMayStopIt) {
  model::LoadedModel loaded = load(8);
  const auto state = loaded.make_state();
  int left = 3;
  GenerateCallbacks callbacks;
  callbacks.on_token = [&](TokenId) { return --left > 0; };
  const GenerateResult result =
      generate(loaded, *state, request(tokens({5, 9}), 20), callbacks, kNeverCancel);
  EXPECT_EQ(result.generated.size(), 3u);
  EXPECT_EQ(result.reason, FinishReason::kStop);
}

TEST_F(Generate, CancellingKeepsWhatThereWas) {
  model::LoadedModel loaded = load(8);
  const auto state = loaded.make_state();
  const GenerateResult whole =
      generate(loaded, *state, request(tokens({5, 9}), 6), {}, kNeverCancel);
  for (const size_t after : {0u, 1u, 4u}) {
    state->clear();
    std::atomic<bool> cancel{after == 0};
    size_t seen = 0;
    GenerateCallbacks callbacks;
    callbacks.on_token = [&](TokenId) {
      cancel = ++seen == after;
      return true;
    };
    const GenerateResult cut =
        generate(loaded, *state, request(tokens({5, 9}), 6), callbacks, cancel);
    EXPECT_EQ(cut.reason, FinishReason::kCancelled);
    ASSERT_EQ(cut.generated.size(), after);
    EXPECT_TRUE(std::equal(cut.generated.begin(), cut.generated.end(), whole.generated.begin()));
  }
  // The model is as good as before.
  state->clear();
  EXPECT_EQ(generate(loaded, *state, request(tokens({5, 9}), 6), {}, kNeverCancel).generated,
            whole.generated);
}

TEST_F(Generate, TwoSequencesInOneBatchGetWhatEachGetsAlone) {
  model::LoadedModel loaded = load(8);
  const std::vector<std::vector<TokenId>> prompts = {tokens({5, 9, 200, 17, 3}), tokens({7, 1})};
  const std::vector<uint32_t> lengths = {4, 7};
  std::vector<std::vector<TokenId>> alone;
  for (size_t i = 0; i < 2; ++i) {
    const auto state = loaded.make_state();
    alone.push_back(
        generate(loaded, *state, request(prompts[i], lengths[i]), {}, kNeverCancel).generated);
  }

  std::vector<std::unique_ptr<model::SequenceState>> states;
  std::vector<Generation> generations;
  for (size_t i = 0; i < 2; ++i) {
    states.push_back(loaded.make_state());
    generations.emplace_back(request(prompts[i], lengths[i]), 0, states[i]->context());
  }
  const size_t vocab = loaded.shape().vocab;
  while (true) {
    std::vector<TokenId> batch;
    std::vector<model::SequenceState*> owners;
    std::vector<uint32_t> wanted;
    std::vector<uint32_t> rows;
    for (size_t i = 0; i < 2; ++i) {
      const auto next = generations[i].next_rows(3);
      batch.insert(batch.end(), next.begin(), next.end());
      owners.insert(owners.end(), next.size(), states[i].get());
      rows.push_back(static_cast<uint32_t>(next.size()));
      if (!next.empty()) wanted.push_back(static_cast<uint32_t>(batch.size() - 1));
    }
    if (batch.empty()) break;
    std::vector<float> logits(wanted.size() * vocab);
    loaded.model().forward({batch, owners, wanted}, logits);
    std::span<const float> rest(logits);
    for (size_t i = 0; i < 2; ++i) {
      if (rows[i] == 0) continue;
      (void)generations[i].advance(rows[i], rest.first(vocab));
      rest = rest.subspan(vocab);
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    const auto generated = generations[i].generated();
    EXPECT_EQ(std::vector<TokenId>(generated.begin(), generated.end()), alone[i]) << i;
  }
}

TEST_F(Generate, ATokenOutsideTheVocabularyIsRefused) {
  model::LoadedModel loaded = load(8);
  const auto state = loaded.make_state();
  EXPECT_THROW((void)generate(loaded, *state, request(tokens({5, 1 << 20}), 1), {}, kNeverCancel),
               Error);
  EXPECT_EQ(state->length(), 0u);
}

}  // namespace
}  // namespace sluice::engine
