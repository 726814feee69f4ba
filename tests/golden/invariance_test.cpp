// One answer: the logits of a row depend on its sequence and the weights alone. Each test runs the
// same tokens another way and compares every bit; without them a kernel or a schedule could change
// the text unnoticed.
#include "base/error.h"
#include "format/synthetic_checkpoint.h"
#include "io/open_drives.h"
#include "kernels/kernel_table.h"
#include "model/loaded_model.h"

#include <atomic>
#include <cstring>
#include <map>
#include <unistd.h>

#include <gtest/gtest.h>

namespace sluice::golden {
namespace {

using model::LoadedModel;
using model::LoadOptions;
using model::SequenceState;

constexpr uint32_t kPrompt = 70, kDecoded = 6;  // Past one chunk of 64, and some rows on their own.

/// A synthetic checkpoint of this process alone, gone at its end.
class TemporaryCheckpoint {
 public:
  TemporaryCheckpoint()
      : folder_(std::filesystem::path(SLUICE_BINARY_DIR) /
                fmt::format("invariance-{}", ::getpid())) {
    format::write_synthetic_checkpoint(folder_, format::SyntheticShape::tiny(),
                                       {.seed = 11, .overwrite = true});
  }
  ~TemporaryCheckpoint() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

const std::filesystem::path& checkpoint() {
  static const TemporaryCheckpoint written;
  return written.folder();
}

LoadOptions base_options() {
  return {.threads = 1,
          .memory_bytes = 1u << 30,
          .prefill_rows = 128,
          .context = 128,
          .logits_of_every_row = true};
}

std::vector<TokenId> tokens(uint32_t seed, uint32_t count) {
  std::vector<TokenId> ids;
  for (uint32_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;  // Any fixed mixture of ids will do.
    ids.push_back({static_cast<int32_t>(seed >> 8) % 500});
  }
  return ids;
}

/// The bits of all logits of a run, and a hash of them to report.
struct Bits {
  std::vector<uint32_t> words;
  void append(std::span<const float> logits) {
    const size_t at = words.size();
    words.resize(at + logits.size());
    std::memcpy(words.data() + at, logits.data(), logits.size_bytes());
  }
  [[nodiscard]] uint64_t hash() const {
    uint64_t h = 0xcbf29ce484222325u;  // FNV-1a over words.
    for (const uint32_t word : words) h = (h ^ word) * 0x100000001b3u;
    return h;
  }
};

void forward(LoadedModel& loaded, SequenceState& state, std::span<const TokenId> ids, Bits& bits) {
  const std::vector<SequenceState*> states(ids.size(), &state);
  std::vector<uint32_t> rows(ids.size());
  for (uint32_t r = 0; r < rows.size(); ++r) rows[r] = r;
  std::vector<float> logits(ids.size() * loaded.shape().vocab);
  loaded.model().forward({ids, states, rows}, logits);
  bits.append(logits);
}

uint64_t hinted_experts(LoadedModel& loaded) {
  uint64_t sum = 0;
  if (const model::ExpertGuess* const guess = loaded.model().guess()) {
    for (const model::LayerGuesses& layer : guess->statistics()) sum += layer.total().hinted;
  }
  return sum;
}

/// The prompt in chunks, then some tokens one by one. `hints`: takes how many experts were hinted.
Bits run(const LoadOptions& options, uint32_t chunk = kPrompt, uint64_t* hints = nullptr) {
  LoadedModel loaded(checkpoint(), options);
  const std::unique_ptr<SequenceState> state = loaded.make_state();
  const std::vector<TokenId> ids = tokens(1, kPrompt + kDecoded);
  Bits bits;
  for (uint32_t at = 0; at < kPrompt; at += chunk) {
    forward(loaded, *state, std::span(ids).subspan(at, std::min(chunk, kPrompt - at)), bits);
  }
  for (uint32_t at = kPrompt; at < ids.size(); ++at)
    forward(loaded, *state, std::span(ids).subspan(at, 1), bits);
  if (hints != nullptr) *hints = hinted_experts(loaded);
  return bits;
}

const Bits& expected() {
  static const Bits bits = run(base_options());
  return bits;
}

void expect_same(const Bits& bits, const std::string& how) {
  EXPECT_EQ(bits.hash(), expected().hash()) << how;
  EXPECT_TRUE(bits.words == expected().words) << how;
}

/// Why this system has no io_uring; empty when it has.
std::string no_uring() {
  const std::string some_file = (checkpoint() / "config.json").string();
  return io::open_drives({some_file}, {}).no_uring;
}

TEST(Invariance, LogitsAreNotTrivial) {
  std::map<uint32_t, int> values;
  for (const uint32_t word : expected().words) ++values[word];
  EXPECT_GT(values.size(), expected().words.size() / 4) << "equal bits would prove little";
  RecordProperty("logits_hash", fmt::format("{:016x}", expected().hash()));
}

TEST(Invariance, Threads) {
  for (const uint32_t threads : {2u, 3u, 7u}) {
    LoadOptions options = base_options();
    options.threads = threads;
    expect_same(run(options), fmt::format("{} threads", threads));
  }
}

TEST(Invariance, PrefillChunks) {
  for (const uint32_t chunk : {1u, 7u, 31u, 64u})
    expect_same(run(base_options(), chunk), fmt::format("chunk {}", chunk));
}

TEST(Invariance, InstructionSets) {
  for (const kernels::KernelTable* table : kernels::runnable_kernels()) {
    LoadOptions options = base_options();
    options.target = table->target;
    expect_same(run(options), table->target);
  }
}

TEST(Invariance, MemoryBudgets) {
  LoadOptions options = base_options();
  const uint64_t minimum = model::inspect_model(checkpoint(), options).plan.minimum_bytes;
  const uint64_t all = model::inspect_model(checkpoint(), options).plan.total_bytes;
  ASSERT_LT(minimum, all);
  for (const uint64_t step : {0u, 1u, 2u, 5u, 10u, 20u}) {
    options.memory_bytes = minimum + (all - minimum) * step / 20;
    expect_same(run(options), fmt::format("{} bytes of memory", options.memory_bytes));
  }
  options.memory_bytes = minimum - 1;
  EXPECT_THROW(run(options), Error);
}

TEST(Invariance, Hints) {
  LoadOptions options = base_options();
  const stream::MemoryPlan all = model::inspect_model(checkpoint(), options).plan;
  uint64_t hints = 0;
  for (const uint64_t eighths : {1u, 4u, 7u}) {  // Of the experts that have a slot.
    options.memory_bytes = all.total_bytes - all.expert_slot_bytes * (8 - eighths) / 8;
    for (const bool on : {false, true}) {
      options.hints = on;
      // With the usual limits as few guesses as random weights allow would be hinted.
      options.reading.hint_limits = {.waste_max = 1e9, .probability_min = 0, .probe_every = 1};
      expect_same(run(options, 1, &hints),
                  fmt::format("hints {}, {} of 8 experts in memory", on ? "on" : "off", eighths));
      EXPECT_EQ(hints > 0, on);
    }
  }
}

TEST(Invariance, BufferedReads) {
  LoadOptions options = base_options();
  options.direct_io = false;
  expect_same(run(options), "through the page cache");
}

TEST(Invariance, IoUringAndPread) {
  LoadOptions options = base_options();
  const uint64_t minimum = model::inspect_model(checkpoint(), options).plan.minimum_bytes;
  for (const uint64_t memory : {minimum, options.memory_bytes}) {
    options.memory_bytes = memory;
    options.read_method = io::ReadMethod::kPread;
    expect_same(run(options), fmt::format("pread, {} bytes of memory", memory));
    if (const std::string why = no_uring(); !why.empty()) GTEST_SKIP() << "no io_uring: " << why;
    options.read_method = io::ReadMethod::kUring;
    expect_same(run(options), fmt::format("io_uring, {} bytes of memory", memory));
  }
}

TEST(Invariance, SavedAndRestored) {
  const std::vector<TokenId> ids = tokens(1, kPrompt + kDecoded);
  const std::filesystem::path file = checkpoint() / "saved.state";
  Bits bits;
  {
    LoadedModel loaded(checkpoint(), base_options());
    const std::unique_ptr<SequenceState> state = loaded.make_state();
    forward(loaded, *state, std::span(ids).first(33), bits);
    state->save(file);
    Bits unused;
    forward(loaded, *state, tokens(5, 4), unused);  // What follows the save must not matter.
  }
  LoadedModel loaded(checkpoint(), base_options());
  const std::unique_ptr<SequenceState> state = loaded.make_state();
  forward(loaded, *state, tokens(9, 12),
          *std::make_unique<Bits>());  // Nor what was there before the load.
  state->load(file);
  EXPECT_EQ(state->length(), 33u);
  forward(loaded, *state, std::span(ids).subspan(33), bits);
  expect_same(bits, "saved and restored");
}

TEST(Invariance, CutToEverySavedPoint) {
  const std::vector<TokenId> ids = tokens(1, kPrompt + kDecoded);
  LoadedModel loaded(checkpoint(), base_options());
  const std::unique_ptr<SequenceState> state = loaded.make_state();
  Bits bits;
  for (uint32_t at = 0; at < ids.size();) {
    const SequenceState::SavedPoint point = state->save_point();
    Bits unused;
    forward(loaded, *state, tokens(at + 3, 1 + at % 8), unused);  // A draft that is rejected.
    state->cut(point);
    const uint32_t rows = std::min<uint32_t>(1 + at % 5, static_cast<uint32_t>(ids.size()) - at);
    forward(loaded, *state, std::span(ids).subspan(at, rows), bits);
    at += rows;
  }
  expect_same(bits, "cut back");
}

TEST(Invariance, TwoSequencesInterleaved) {
  LoadOptions options = base_options();
  options.sequences = 2;
  LoadedModel loaded(checkpoint(), options);
  const std::unique_ptr<SequenceState> mine = loaded.make_state(), other = loaded.make_state();
  const std::vector<TokenId> ids = tokens(1, kPrompt + kDecoded),
                             others = tokens(77, kPrompt + kDecoded);
  Bits bits;
  for (uint32_t at = 0; at < ids.size();) {
    const uint32_t rows = std::min<uint32_t>(1 + at % 9, static_cast<uint32_t>(ids.size()) - at);
    // Both in one pass, and in either order.
    const bool first = at % 2 == 0;
    std::vector<TokenId> batch;
    std::vector<SequenceState*> states;
    const auto add = [&](const std::vector<TokenId>& from, SequenceState& state) {
      batch.insert(batch.end(), from.begin() + at, from.begin() + at + rows);
      states.insert(states.end(), rows, &state);
    };
    if (!first) add(others, *other);
    add(ids, *mine);
    if (first) add(others, *other);
    std::vector<uint32_t> wanted(rows);
    for (uint32_t r = 0; r < rows; ++r) wanted[r] = r + (first ? 0 : rows);
    std::vector<float> logits(size_t{rows} * loaded.shape().vocab);
    loaded.model().forward({batch, states, wanted}, logits);
    bits.append(logits);
    at += rows;
  }
  expect_same(bits, "interleaved with another sequence");
}

/// Raises a flag once a layer is done, as a person's Ctrl-C would.
class CancelAfter final : public model::ForwardObserver {
 public:
  CancelAfter(uint32_t layer, std::atomic<bool>& flag) : layer_(layer), flag_(flag) {}
  void on_tensor(uint32_t layer, model::Tap tap, backend::Tensor) override {
    if (tap == model::Tap::kPrefix && layer == layer_) flag_ = true;
  }
  void on_routes(uint32_t, const backend::Routes&) override {}

 private:
  const uint32_t layer_;
  std::atomic<bool>& flag_;
};

TEST(Invariance, CancelledPassesLeaveNothingBehind) {
  for (const bool streaming : {false, true}) {
    LoadOptions options = base_options();
    if (streaming)
      options.memory_bytes = model::inspect_model(checkpoint(), options).plan.minimum_bytes;
    LoadedModel loaded(checkpoint(), options);
    const std::unique_ptr<SequenceState> state = loaded.make_state();
    const std::vector<TokenId> ids = tokens(1, kPrompt + kDecoded), others = tokens(7, 5);
    const std::vector<SequenceState*> states(others.size(), state.get());
    std::atomic<bool> cancel = false;
    loaded.model().set_cancel_flag(&cancel);
    Bits bits;
    for (uint32_t at = 0; at < ids.size(); at += 5) {
      const SequenceState::SavedPoint point = state->save_point();
      // Without logits, as a prompt's early chunk runs; stopped before the first layer, then after
      // each.
      const uint32_t stop = at / 5 % loaded.shape().layers;
      CancelAfter observer(stop - 1, cancel);
      cancel = stop == 0;
      loaded.model().set_observer(&observer);
      EXPECT_THROW(loaded.model().forward({others, states, {}}, {}), Error) << "layer " << stop;
      cancel = false;
      loaded.model().set_observer(nullptr);
      EXPECT_TRUE(state->interrupted());
      EXPECT_THROW(loaded.model().forward({others, states, {}}, {}), Error)
          << "an interrupted sequence went on";
      state->cut(point);
      // A whole pass without logits in between, undone as well.
      loaded.model().forward(
          {.tokens = others, .states = states, .logits_rows = {}, .another_follows = true}, {});
      state->cut(point);
      forward(loaded, *state, std::span(ids).subspan(at, std::min<size_t>(5, ids.size() - at)),
              bits);
    }
    expect_same(bits, streaming ? "with a streaming spine" : "with a resident spine");
  }
}

TEST(Invariance, SameSequenceTwice) {
  LoadedModel loaded(checkpoint(), base_options());
  const std::unique_ptr<SequenceState> state = loaded.make_state();
  const std::vector<TokenId> ids = tokens(1, kPrompt + kDecoded);
  for (int time = 0; time < 2; ++time) {
    Bits bits;
    state->clear();
    forward(loaded, *state, std::span(ids).first(kPrompt), bits);
    for (uint32_t at = kPrompt; at < ids.size(); ++at)
      forward(loaded, *state, std::span(ids).subspan(at, 1), bits);
    expect_same(bits, fmt::format("time {}", time + 1));
  }
}

}  // namespace
}  // namespace sluice::golden
