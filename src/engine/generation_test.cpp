// Without these tests a generation could run a token twice, stop late, or overrun its sequence.
#include "engine/generation.h"

#include "base/error.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

constexpr uint32_t kVocab = 8;

std::vector<TokenId> tokens(std::initializer_list<int32_t> ids) {
  std::vector<TokenId> out;
  for (const int32_t id : ids) out.push_back(TokenId{id});
  return out;
}

/// A model that is easy to foresee: after token t comes t + 1.
std::vector<float> logits_after(TokenId token) {
  std::vector<float> logits(kVocab, 0.0f);
  logits[static_cast<uint32_t>(token.value + 1) % kVocab] = 1.0f;
  return logits;
}

struct Trace {
  std::vector<std::vector<TokenId>> passes;
  std::vector<TokenId> generated;
  FinishReason reason{};
};

Trace run(GenerateRequest request, uint32_t rows_max, uint32_t length = 0, uint32_t context = 100) {
  Generation generation(std::move(request), length, context);
  Trace trace;
  while (true) {
    const auto next = generation.next_rows(rows_max);
    if (next.empty()) break;
    trace.passes.emplace_back(next.begin(), next.end());
    const auto rows = static_cast<uint32_t>(next.size());
    const std::vector<float> logits = logits_after(next.back());
    const bool wanted = generation.wants_logits(rows);
    (void)generation.advance(rows, wanted ? logits : std::vector<float>{});
  }
  trace.generated.assign(generation.generated().begin(), generation.generated().end());
  trace.reason = generation.reason();
  return trace;
}

TEST(Generation, RunsThePromptInChunksAndThenTokenByToken) {
  const Trace trace = run({.prompt = tokens({0, 1, 2}), .max_new = 3}, 2);
  EXPECT_EQ(trace.passes, (std::vector<std::vector<TokenId>>{tokens({0, 1}), tokens({2}),
                                                             tokens({3}), tokens({4})}));
  EXPECT_EQ(trace.generated, tokens({3, 4, 5}));
  EXPECT_EQ(trace.reason, FinishReason::kLength);
}

TEST(Generation, RunsTheLastTokenWhenAsked) {
  const Trace trace = run({.prompt = tokens({0}), .max_new = 2, .run_last = true}, 8);
  EXPECT_EQ(trace.passes,
            (std::vector<std::vector<TokenId>>{tokens({0}), tokens({1}), tokens({2})}));
  EXPECT_EQ(trace.generated, tokens({1, 2}));
}

TEST(Generation, NothingNewStillRunsThePrompt) {
  for (const bool run_last : {false, true}) {
    const Trace trace = run({.prompt = tokens({0, 1, 2}), .max_new = 0, .run_last = run_last}, 2);
    EXPECT_EQ(trace.passes, (std::vector<std::vector<TokenId>>{tokens({0, 1}), tokens({2})}));
    EXPECT_TRUE(trace.generated.empty());
    EXPECT_EQ(trace.reason, FinishReason::kLength);
  }
}

TEST(Generation, EndsForTheFirstReasonThatHolds) {
  struct Case {
    GenerateRequest request;
    uint32_t length, context;
    std::vector<TokenId> generated;
    FinishReason reason;
  };
  const auto prompt = tokens({0, 1});
  const Case cases[] = {
      {{.prompt = prompt, .max_new = 9, .stop_ids = tokens({4, 5})},
       0,
       100,
       tokens({2, 3, 4}),
       FinishReason::kStop},
      {{.prompt = prompt, .max_new = 3, .stop_ids = tokens({4})},
       0,
       100,
       tokens({2, 3, 4}),
       FinishReason::kStop},
      {{.prompt = prompt, .max_new = 9}, 0, 4, tokens({2, 3}), FinishReason::kContext},
      {{.prompt = prompt, .max_new = 9}, 10, 14, tokens({2, 3}), FinishReason::kContext},
      {{.prompt = prompt, .max_new = 2}, 0, 4, tokens({2, 3}), FinishReason::kLength},
      {{.prompt = prompt, .max_new = 9}, 0, 2, {}, FinishReason::kContext},
  };
  for (const Case& c : cases) {
    for (const bool run_last : {false, true}) {
      GenerateRequest request = c.request;
      request.run_last = run_last;
      const Trace trace = run(request, 8, c.length, c.context);
      EXPECT_EQ(trace.generated, c.generated);
      EXPECT_EQ(trace.reason, c.reason) << finish_reason_name(trace.reason);
      size_t rows = 0;
      for (const auto& pass : trace.passes) rows += pass.size();
      EXPECT_LE(c.length + rows, c.context);
    }
  }
}

TEST(Generation, TheCallerMayEndIt) {
  Generation generation({.prompt = tokens({0}), .max_new = 5}, 0, 100);
  EXPECT_EQ(generation.advance(1, logits_after(TokenId{0})), TokenId{1});
  EXPECT_FALSE(generation.in_prompt());
  generation.finish(FinishReason::kStop);
  EXPECT_TRUE(generation.next_rows(8).empty());
  EXPECT_EQ(generation.reason(), FinishReason::kStop);
  EXPECT_EQ(std::vector<TokenId>(generation.generated().begin(), generation.generated().end()),
            tokens({1}));
}

TEST(Generation, EarlierTokensCountForTheRepetitionPenalty) {
  const GenerateRequest request = {.earlier = tokens({1}),
                                   .prompt = tokens({0}),
                                   .max_new = 1,
                                   .sampling = {.repetition_penalty = 2.0}};
  Generation generation(request, 1, 100);
  std::vector<float> logits(kVocab, 0.0f);
  logits[1] = 3.0f;
  logits[5] = 2.0f;
  EXPECT_EQ(generation.advance(1, logits), TokenId{5});
}

TEST(Generation, ADrawBelongsToThePositionInTheSequence) {
  // The same token is drawn whether the tokens before it ran in this request or in an earlier one.
  const SamplingOptions sampling{.temperature = 1.0, .seed = 5};
  const std::vector<float> flat(4096, 0.0f);
  Generation whole({.prompt = tokens({0, 1, 2}), .max_new = 1, .sampling = sampling}, 0, 100);
  Generation resumed({.prompt = tokens({2}), .max_new = 1, .sampling = sampling}, 2, 100);
  Generation elsewhere({.prompt = tokens({2}), .max_new = 1, .sampling = sampling}, 3, 100);
  const auto token = whole.advance(3, flat);
  EXPECT_EQ(resumed.advance(1, flat), token);
  EXPECT_NE(elsewhere.advance(1, flat), token);
}

TEST(Generation, RefusesWhatCannotRun) {
  EXPECT_THROW(Generation({.prompt = {}, .max_new = 1}, 0, 10), Error);
  EXPECT_THROW(Generation({.prompt = tokens({1, 2}), .max_new = 1}, 9, 10), Error);
  EXPECT_THROW(
      Generation({.prompt = tokens({1}), .max_new = 1, .sampling = {.temperature = -1.0}}, 0, 10),
      Error);
}

}  // namespace
}  // namespace sluice::engine
