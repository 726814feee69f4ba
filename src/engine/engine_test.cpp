// Without these tests a request could get other tokens because of who runs beside it, what was in
// memory, or who was cancelled; or a caller could wait for ever.
#include "engine/engine.h"

#include "base/error.h"
#include "engine/generate.h"
#include "format/synthetic_checkpoint.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using Ids = std::vector<TokenId>;

constexpr Nanos kLong = seconds(60);

Ids numbers(int32_t first, int32_t count) {
  Ids ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back({first + i * 7 % 400});
  return ids;
}

Ids joined(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<EngineRequest> one(EngineRequest request) {
  std::vector<EngineRequest> list;
  list.push_back(std::move(request));
  return list;
}

EngineRequest request(Ids prompt, uint32_t max_new) {
  return {.generate = {.prompt = std::move(prompt), .max_new = max_new}};
}

/// All that a request was told.
struct Told {
  Ids ids{};
  uint32_t cached = 0;
  std::optional<RequestEnded> end{};
  std::optional<Error> error{};
  std::vector<TokenChosen> chosen{};
};

Told wait_for(Ticket& ticket) {
  Told told;
  while (!told.end && !told.error) {
    std::optional<RequestEvent> happened = ticket.next(kLong);
    if (!happened) {
      ADD_FAILURE() << "nothing happened";
      break;
    }
    EngineEvent* const event = &happened->event;
    if (const auto* started = std::get_if<RequestStarted>(event)) told.cached = started->cached;
    if (const auto* chosen = std::get_if<TokenChosen>(event)) {
      told.ids.push_back(chosen->token);
      told.chosen.push_back(*chosen);
    }
    if (const auto* end = std::get_if<RequestEnded>(event)) told.end = *end;
    if (const auto* error = std::get_if<Error>(event)) told.error = *error;
  }
  return told;
}

class EngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ =
        std::filesystem::path(::testing::TempDir()) / ("sluice-engine-" + std::to_string(getpid()));
    format::SyntheticShape shape = format::SyntheticShape::tiny();
    shape.set_layers(6);
    format::write_synthetic_checkpoint(folder_, shape, {.overwrite = true, .progress = {}});
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  static model::LoadedModel load(const EngineOptions& options) {
    model::LoadOptions load;
    load.threads = 1;
    load.memory_bytes = 256u << 20;
    load.prefill_rows = 8;
    load.context = 96;
    Engine::prepare(load, options);
    return model::LoadedModel(folder_, load);
  }

  /// What the request gets when it is alone in a fresh model.
  static Ids alone(const Ids& prompt, uint32_t max_new, const SamplingOptions& sampling = {}) {
    model::LoadedModel loaded = load({.sequences = 1});
    const auto state = loaded.make_state();
    const std::atomic<bool> never{false};
    return generate(loaded, *state, {.prompt = prompt, .max_new = max_new, .sampling = sampling},
                    {}, never)
        .generated;
  }

  Engine& engine(const EngineOptions& options) {
    engine_.reset();
    loaded_.emplace(load(options));
    return engine_.emplace(*loaded_, options);
  }
  void TearDown() override { engine_.reset(); }

  Told run(EngineRequest wanted) {
    Ticket ticket = *engine_->submit(one(std::move(wanted)));
    return wait_for(ticket);
  }

  static inline std::filesystem::path folder_;
  std::optional<model::LoadedModel> loaded_;
  std::optional<Engine> engine_;
};

TEST_F(EngineTest, RequestsBesideEachOtherGetWhatTheyGetAlone) {
  Engine& engine = this->engine({.sequences = 3, .queue_max = 8});
  std::vector<std::pair<Ids, uint32_t>> wanted;
  for (int32_t i = 0; i < 6; ++i) {
    wanted.emplace_back(numbers(3 + 31 * i, 5 + 6 * i), 4 + static_cast<uint32_t>(i));
  }
  std::vector<Ticket> tickets;
  for (const auto& [prompt, count] : wanted) {
    tickets.push_back(*engine.submit(one(request(prompt, count))));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Told told = wait_for(tickets[i]);
    EXPECT_EQ(told.ids, alone(wanted[i].first, wanted[i].second)) << i;
    ASSERT_TRUE(told.end);
    EXPECT_EQ(told.end->reason, FinishReason::kLength);
    EXPECT_EQ(told.end->generated, wanted[i].second);
  }
  EXPECT_EQ(engine.status().running, 0u);
  EXPECT_EQ(engine.status().ended_by_length, 6u);
}

TEST_F(EngineTest, AConversationGoesOnFromWhatIsInMemory) {
  engine({.sequences = 2});
  const Ids first = numbers(9, 20);
  const Told one = run(request(first, 5));
  EXPECT_EQ(one.cached, 0u);
  const Ids next = joined(joined(first, one.ids), numbers(50, 4));
  const Told two = run(request(next, 5));
  EXPECT_EQ(two.cached, 24u);  // The last token of an answer has not run.
  EXPECT_EQ(two.ids, alone(next, 5));
}

TEST_F(EngineTest, ARetryAndAnEditGoBackToTheEndOfThePrompt) {
  engine({.sequences = 2});
  const Ids prompt = numbers(9, 20);
  const Told one = run(request(prompt, 5));
  const Told retry = run(request(prompt, 5));
  EXPECT_EQ(retry.cached, 20u);
  EXPECT_EQ(retry.ids, one.ids);
  const Ids other = joined(prompt, numbers(200, 3));
  const Told edit = run(request(other, 5));
  EXPECT_EQ(edit.cached, 20u);
  EXPECT_EQ(edit.ids, alone(other, 5));
}

TEST_F(EngineTest, ConversationsShareTheirBeginning) {
  for (const uint32_t sequences : {1u, 2u}) {
    engine({.sequences = sequences});
    const Ids system = numbers(9, 20);
    std::vector<uint32_t> cached;
    for (const int32_t first : {100, 150, 200}) {
      EngineRequest wanted = request(joined(system, numbers(first, 11)), 4);
      const Ids prompt = wanted.generate.prompt;
      wanted.shared = 20;
      const Told told = run(std::move(wanted));
      EXPECT_EQ(told.ids, alone(prompt, 4));
      cached.push_back(told.cached);
    }
    EXPECT_THAT(cached, ElementsAre(0u, 16u, 16u));  // A pass has 8 rows.
  }
}

TEST_F(EngineTest, WherePromptsPartIsFoundOut) {
  engine({.sequences = 2});
  const Ids beginning = numbers(9, 24);
  std::vector<uint32_t> cached;
  for (const int32_t first : {100, 150, 200, 250}) {
    const Ids prompt = joined(beginning, numbers(first, 11));
    const Told told = run(request(prompt, 4));
    EXPECT_EQ(told.ids, alone(prompt, 4));
    cached.push_back(told.cached);
  }
  EXPECT_THAT(cached, ElementsAre(0u, 0u, 24u, 24u));
}

TEST_F(EngineTest, WhateverIsInMemoryARequestGetsWhatItGetsAlone) {
  constexpr uint32_t kNew = 4;
  std::mt19937 random(7);
  const auto below = [&](int32_t n) { return static_cast<int32_t>(random() % uint32_t(n)); };
  std::map<std::array<int32_t, 3>, Ids> prompts, expected;
  for (int32_t i = 0; i < 12; ++i) {
    const std::array parts = {i % 2, i / 2 % 2, i / 4};
    prompts[parts] = joined(joined(numbers(5 + 40 * parts[0], 19), numbers(90 + parts[1], 13)),
                            numbers(200 + parts[2], 1 + 6 * parts[2]));
    expected[parts] = alone(prompts[parts], kNew);
  }
  for (const uint32_t sequences : {1u, 3u}) {
    Engine& engine = this->engine({.sequences = sequences, .queue_max = 8});
    for (int round = 0; round < 15; ++round) {
      std::vector<Ticket> tickets;
      std::vector<std::array<int32_t, 3>> parts;
      for (int i = 1 + below(3); i > 0; --i) {
        parts.push_back({below(2), below(2), below(3)});
        EngineRequest wanted = request(prompts[parts.back()], kNew);
        wanted.shared = std::array{0u, 19u, 32u}[static_cast<size_t>(below(3))];
        tickets.push_back(*engine.submit(one(std::move(wanted))));
      }
      for (size_t i = 0; i < tickets.size(); ++i) {
        if (below(4) == 0) {  // Its client goes away.
          const Ticket gone = std::move(tickets[i]);
          continue;
        }
        EXPECT_EQ(wait_for(tickets[i]).ids, expected[parts[i]]) << round;
      }
    }
    EXPECT_GT(engine.status().cached_tokens, 0u);
  }
}

TEST_F(EngineTest, EqualPromptsRunOnce) {
  Engine& engine = this->engine({.sequences = 3, .queue_max = 8});
  const Ids prompt = numbers(5, 30);
  std::vector<Ticket> tickets;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EngineRequest wanted = request(prompt, 6);
    wanted.generate.sampling = {.temperature = 1.5, .seed = seed};
    tickets.push_back(*engine.submit(one(std::move(wanted))));
  }
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const Told told = wait_for(tickets[seed - 1]);
    EXPECT_EQ(told.cached, seed == 1 ? 0u : 30u);
    EXPECT_EQ(told.ids, alone(prompt, 6, {.temperature = 1.5, .seed = seed}));
  }
  EXPECT_EQ(engine.status().prompt_tokens, 30u);
}

TEST_F(EngineTest, RequestsThatComeTogetherAreTakenTogether) {
  Engine& engine = this->engine({.sequences = 2, .queue_max = 0});
  const Ids prompt = numbers(5, 30);
  std::vector<EngineRequest> wanted;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    wanted.push_back(request(prompt, 3 + static_cast<uint32_t>(seed)));
    wanted.back().generate.sampling = {.temperature = 1.5, .seed = seed};
  }
  Ticket ticket = *engine.submit(std::move(wanted));
  EXPECT_FALSE(engine.submit(one(request(prompt, 1))));
  std::vector<Ids> ids(4);
  for (int ended = 0; ended < 4;) {
    const std::optional<RequestEvent> happened = ticket.next(kLong);
    ASSERT_TRUE(happened);
    if (const auto* chosen = std::get_if<TokenChosen>(&happened->event)) {
      ids[happened->index].push_back(chosen->token);
    }
    ended += std::holds_alternative<RequestEnded>(happened->event) ? 1 : 0;
  }
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    EXPECT_EQ(ids[seed - 1],
              alone(prompt, 3 + static_cast<uint32_t>(seed), {.temperature = 1.5, .seed = seed}));
  }
  EXPECT_EQ(engine.status().prompt_tokens, 30u);
}

TEST_F(EngineTest, ADroppedTicketStopsItsRequestAndNobodyElse) {
  Engine& engine = this->engine({.sequences = 2, .queue_max = 8});
  const Ids prompt = numbers(5, 60);
  for (int round = 0; round < 6; ++round) {
    Ticket kept = *engine.submit(one(request(numbers(100, 40), 8)));
    {
      const Ticket dropped = *engine.submit(one(request(prompt, 30)));
      for (int i = 0; i < round * 3; ++i) std::this_thread::yield();
    }
    EXPECT_EQ(wait_for(kept).ids, alone(numbers(100, 40), 8));
  }
  EXPECT_EQ(run(request(prompt, 8)).ids, alone(prompt, 8));
}

TEST_F(EngineTest, AFullQueueRefuses) {
  Engine& engine = this->engine({.sequences = 1, .queue_max = 2});
  std::vector<Ticket> tickets;
  std::optional<Ticket> ticket;
  while ((ticket = engine.submit(one(request(numbers(5, 60), 30))))) {
    tickets.push_back(std::move(*ticket));
    ASSERT_LE(tickets.size(), 3u);
  }
  EXPECT_GE(tickets.size(), 2u);
  EXPECT_EQ(engine.status().refused, 1u);
  const RequestProgress last = tickets.back().progress();
  EXPECT_TRUE(last.waiting);
  EXPECT_EQ(last.rows_of, 60u);
}

TEST_F(EngineTest, WhatCannotBeRightIsRefusedAtOnce) {
  Engine& engine = this->engine({.sequences = 1});
  EXPECT_THROW((void)engine.submit(one(request({}, 3))), Error);
  EXPECT_THROW((void)engine.submit(one(request(numbers(5, 97), 3))), Error);
  EXPECT_THROW((void)engine.submit(one(request({TokenId{-1}}, 3))), Error);
  EngineRequest bias = request(numbers(5, 3), 3);
  bias.logit_bias = {{TokenId{1 << 20}, 1.0f}};
  EXPECT_THROW((void)engine.submit(one(std::move(bias))), Error);
}

/// Allows one token only, and so many of it.
class OnlyToken final : public TokenGuide {
 public:
  OnlyToken(TokenId token, int count, uint32_t vocab) : count_(count), mask_((vocab + 63) / 64) {
    const auto id = static_cast<size_t>(token.value);
    mask_[id / 64] |= uint64_t{1} << (id % 64);
  }
  std::span<const uint64_t> allowed() override { return mask_; }
  bool accept(TokenId) override { return --count_ > 0; }

 private:
  int count_;
  std::vector<uint64_t> mask_;
};

TEST_F(EngineTest, AGuideDecidesWhatMayComeAndWhenItEnds) {
  engine({.sequences = 1});
  EngineRequest wanted = request(numbers(5, 3), 30);
  wanted.guide = std::make_unique<OnlyToken>(TokenId{77}, 3, loaded_->shape().vocab);
  const Told told = run(std::move(wanted));
  EXPECT_EQ(told.ids, Ids(3, TokenId{77}));
  ASSERT_TRUE(told.end);
  EXPECT_EQ(told.end->reason, FinishReason::kStop);
}

TEST_F(EngineTest, LogprobsAreThoseOfTheModel) {
  engine({.sequences = 1});
  EngineRequest wanted = request(numbers(5, 3), 4);
  wanted.logprobs = true;
  wanted.top_logprobs = 3;
  wanted.logit_bias = {{TokenId{123}, 1000.0f}};
  const Told told = run(std::move(wanted));
  ASSERT_EQ(told.chosen.size(), 4u);
  for (const TokenChosen& chosen : told.chosen) {
    EXPECT_EQ(chosen.token, TokenId{123});
    ASSERT_EQ(chosen.top.size(), 3u);
    EXPECT_LT(chosen.top[0].logprob, 0.0f);
    EXPECT_GE(chosen.top[0].logprob, chosen.top[1].logprob);
    EXPECT_GE(chosen.top[0].logprob, chosen.logprob);
  }
}

TEST_F(EngineTest, ClosingLetsRequestsEnd) {
  Engine& engine = this->engine({.sequences = 1, .queue_max = 4});
  Ticket ticket = *engine.submit(one(request(numbers(5, 20), 4)));
  engine.close(kLong);
  EXPECT_EQ(wait_for(ticket).ids, alone(numbers(5, 20), 4));
  EXPECT_FALSE(engine.submit(one(request(numbers(5, 3), 1))));
}

TEST_F(EngineTest, ClosingInHasteCancelsThem) {
  Engine& engine = this->engine({.sequences = 1, .queue_max = 4});
  Ticket running = *engine.submit(one(request(numbers(5, 60), 36)));
  Ticket waiting = *engine.submit(one(request(numbers(6, 60), 36)));
  engine.close(Nanos{0});
  EXPECT_EQ(wait_for(waiting).end->reason, FinishReason::kCancelled);
  EXPECT_EQ(wait_for(running).end->reason, FinishReason::kCancelled);
}

}  // namespace
}  // namespace sluice::engine
