// Without this test a prediction could leave out an operation, or make guesses that are better or
// worse than what was asked for.
#include "simulator/timed_backend.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::simulator {
namespace {

using backend::Tensor;

constexpr uint32_t kExperts = 64, kTopK = 8, kLayers = 3;

stream::RouteTable drawn_routes() {
  stream::RouteProcess process({.layers = kLayers, .experts = kExperts, .top_k = kTopK}, 5);
  process.converse(40);
  return process.routes();
}

struct World {
  explicit World(double recall = 0.5) {
    TimedBackendOptions options{.rates = {.bf16 = 1e9,
                                          .bf16_row = 0.5,
                                          .mxfp4 = 2e9,
                                          .mxfp4_row = 0.25,
                                          .state = 4e9,
                                          .attention = 1e9,
                                          .vector = 1e9,
                                          .operation = Nanos(10)},
                                .routes = &routes,
                                .recall = std::vector(kLayers, recall),
                                .pass_time = [this](Nanos time) { passed += time; }};
    backend = std::make_unique<TimedBackend>(std::move(options));
  }
  /// Nanoseconds of an operation without what each takes.
  template <class Operation>
  double time(Operation operation) {
    passed = {};
    operation();
    return static_cast<double>(passed.count() - 10);
  }
  Tensor tensor(uint32_t rows, uint32_t cols) { return backend->allocate(rows, cols); }

  const stream::RouteTable routes = drawn_routes();
  Nanos passed{};
  std::unique_ptr<TimedBackend> backend;
};

TEST(TimedBackend, ProductsTakeTheTimeOfTheirWeightsAndRows) {
  World world;
  const backend::Panel panel{.rows = 100, .cols = 50};
  const auto product = [&](uint32_t rows) {
    const Tensor x = world.tensor(rows, 50), y = world.tensor(rows, 100);
    return world.time([&] { world.backend->matmul(x, panel, y); });
  };
  EXPECT_DOUBLE_EQ(product(1), 10'000);
  EXPECT_DOUBLE_EQ(product(3), 20'000);
  const auto expert = [&](uint32_t rows) {
    const std::vector<uint32_t> numbers(rows);
    const Tensor x = world.tensor(8, 64), slots = world.tensor(8, 64);
    return world.time(
        [&] { world.backend->expert_ffn({}, {}, 32, {}, numbers, numbers, x, slots); });
  };
  EXPECT_DOUBLE_EQ(expert(1), 3 * 32 * 64 * (1.0 / 2 + 1.0 / 32) / 2);
  EXPECT_NEAR(expert(5), 2 * expert(1), 1);
}

TEST(TimedBackend, AttentionTakesTimeForEachRowAndKey) {
  World world;
  const uint32_t width = 2 * 16;
  const Tensor row = world.tensor(1, width), rows = world.tensor(4, width);
  const Tensor state = world.tensor(width, 16);
  const auto kda = [&](Tensor q) {
    backend::KdaArguments arguments;
    arguments.q = q;
    arguments.state = state;
    return world.time([&] { world.backend->kda(arguments); });
  };
  EXPECT_DOUBLE_EQ(kda(row), 2 * 4 * width * 16 / 4.0);
  EXPECT_DOUBLE_EQ(kda(rows), 4 * kda(row));
  const auto mla = [&](uint32_t position) {
    const backend::Panel kv_b{.rows = 2 * 24, .cols = 32};
    return world.time([&] {
      world.backend->mla_attend({.heads = 2, .nope = 16, .rope = 4, .value = 8, .latent = 32}, row,
                                kv_b, row, position, row);
    });
  };
  EXPECT_DOUBLE_EQ(mla(1) - mla(0), 2 * (2 * 32 + 4));
  EXPECT_DOUBLE_EQ(mla(0), 2 * 48 * 32 + 2 * (2 * 32 + 4));
}

TEST(TimedBackend, RoutesAreThoseOfTheTableRowByRowAndStartAnew) {
  World world;
  backend::Routes routes;
  const Tensor bias = world.tensor(1, kExperts);
  const size_t tokens = world.routes.tokens();
  for (size_t first = 0; first < 2 * tokens; first += 5) {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      world.backend->route(world.tensor(5, kExperts), bias, {.k = kTopK}, routes);
      std::vector<uint32_t> used;
      for (size_t r = 0; r < 5; ++r) {
        const auto turn = world.routes.turn((first + r) % tokens, layer);
        EXPECT_TRUE(std::equal(turn.begin(), turn.end(), routes.experts.begin() + r * kTopK));
        used.insert(used.end(), turn.begin(), turn.end());
      }
      std::ranges::sort(used);
      used.erase(std::unique(used.begin(), used.end()), used.end());
      EXPECT_EQ(routes.unique, used);
    }
  }
}

// The numbers that are downloaded between a layer's routes and its end are those of the next layer.
TEST(TimedBackend, GuessesAreAsGoodAsAskedForAndBestFirst) {
  for (const double recall : {0.3, 0.65, 0.9}) {
    World world(recall);
    backend::Routes routes;
    const Tensor scores = world.tensor(1, kExperts), slots = world.tensor(kTopK, 4);
    double found = 0, found_first = 0, found_last = 0, guesses = 0;
    for (int token = 0; token < 400; ++token) {
      for (uint32_t layer = 0; layer < kLayers; ++layer) {
        world.backend->route(scores, world.tensor(1, kExperts), {.k = kTopK}, routes);
        if (layer + 1 == kLayers) continue;
        std::vector<float> logits(kExperts);
        world.backend->download(scores, logits);
        std::vector<uint32_t> best;
        for (uint32_t e = 0; e < kExperts; ++e) {
          if (!std::isnan(logits[e])) best.push_back(e);
        }
        ASSERT_EQ(best.size(), kTopK);
        std::ranges::sort(best, std::greater<>(), [&](uint32_t e) { return logits[e]; });
        const auto right = world.routes.turn(token % world.routes.tokens(), layer + 1);
        const auto is_right = [&](uint32_t e) { return std::ranges::binary_search(right, e); };
        found += static_cast<double>(std::ranges::count_if(best, is_right)) / kTopK;
        found_first += is_right(best.front()) ? 1 : 0;
        found_last += is_right(best.back()) ? 1 : 0;
        ++guesses;
        world.backend->combine(routes, slots, world.tensor(1, 4));
      }
    }
    EXPECT_NEAR(found / guesses, recall, 0.03);
    EXPECT_GT(found_first, found_last + 0.1 * guesses);
  }
}

TEST(TimedBackend, LogitsAreZeros) {
  World world;
  std::vector<float> logits(100, 1.0f);
  world.backend->download(world.tensor(1, 100), logits);
  EXPECT_EQ(logits, std::vector<float>(100));
}

}  // namespace
}  // namespace sluice::simulator
