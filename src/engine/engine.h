#pragma once
#include "base/error.h"
#include "base/types.h"
#include "engine/generation.h"
#include "engine/statistics.h"
#include "model/loaded_model.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::engine {

/// Decides with what only the caller knows (markup, schemas, stop strings) which tokens may come.
/// Used by the engine's thread alone, also destroyed by it.
class TokenGuide {
 public:
  virtual ~TokenGuide() = default;
  /// The tokens that may come next, a bit each by id, [vocab / 64 rounded up]; empty: all. Valid
  /// until the next call of either function.
  [[nodiscard]] virtual std::span<const uint64_t> allowed() { return {}; }
  /// A token was chosen; false ends the answer with kStop.
  virtual bool accept(TokenId token) = 0;
};

struct EngineRequest {
  GenerateRequest generate;
  /// Added to the logits of these tokens.
  std::vector<std::pair<TokenId, float>> logit_bias{};
  bool logprobs = false;                ///< Tell the logarithm of each token's probability,
  uint32_t top_logprobs = 0;            ///< and the most probable tokens instead of it.
  std::unique_ptr<TokenGuide> guide{};  ///< May be null.
  /// Tokens at the start of the prompt that other prompts may begin with, too; 0: not known.
  uint32_t shared = 0;
};

struct TokenLogprob {
  TokenId token{};
  float logprob = 0;  ///< Of the model itself: before bias, guide, penalties and temperature.
};

/// What happens to a request, in this order.
struct RequestStarted {
  uint32_t cached = 0;  ///< Prompt tokens that need not run.
  uint32_t prompt = 0;  ///< All of them.
};
struct TokenChosen {
  TokenId token{};
  float logprob = 0;                ///< With EngineRequest::logprobs.
  std::vector<TokenLogprob> top{};  ///< Descending.
};
struct RequestEnded {
  FinishReason reason = FinishReason::kStop;
  uint32_t prompt = 0, cached = 0, generated = 0;  ///< Tokens.
  Nanos queued{}, prefill{}, decode{};             ///< By the drives' clock.
};
using EngineEvent = std::variant<RequestStarted, TokenChosen, RequestEnded, Error>;

/// An event, and which of the requests that were submitted together it is of.
struct RequestEvent {
  uint32_t index = 0;
  EngineEvent event;
};

/// Where a request stands.
struct RequestProgress {
  bool waiting = false;            ///< For a place among the running ones,
  uint32_t ahead = 0;              ///< behind so many others.
  uint32_t rows = 0, rows_of = 0;  ///< Of the prompt: run, those of the pass under way in part.
  double seconds_left = 0;         ///< Until the prompt has run, as far as can be told; else 0.
};

class Engine;

/// Requests that a caller has submitted together. Dropping it cancels them. Must not outlive the
/// engine. One thread at a time.
class Ticket {
 public:
  Ticket(Ticket&& other) noexcept;
  Ticket& operator=(Ticket&& other) noexcept;
  ~Ticket();

  /// What happened next; waits for it for at most `timeout`, and returns nothing after that. After
  /// RequestEnded or an Error nothing follows of that request.
  [[nodiscard]] std::optional<RequestEvent> next(Nanos timeout);
  /// Of the first request that has not ended.
  [[nodiscard]] RequestProgress progress() const;

 private:
  friend class Engine;
  Ticket(Engine& engine, uint64_t id) : engine_(&engine), id_(id) {}
  Engine* engine_;
  uint64_t id_;
};

struct EngineOptions {
  uint32_t sequences = 1;   ///< That run at one time; the model must have room for them.
  uint32_t queue_max = 16;  ///< Requests that may wait besides those that can run.
};

/// Sums since the start, and what is going on.
struct EngineStatus {
  uint32_t running = 0, waiting = 0;
  uint64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  uint64_t ended_by_stop = 0, ended_by_length = 0, cancelled = 0, failed = 0, refused = 0;
  PhaseStats prefill{}, decode{};  ///< Passes with and without rows of prompts.
  bool closed = false;             ///< It takes no more requests.
  bool in_pass = false;
  uint32_t pass_rows = 0, layers_done = 0, layers = 0;  ///< Of the pass under way.
  uint32_t tokens_held = 0, tokens_max = 0;             ///< Of all sequences in memory.
};

/// Runs requests on one model: a thread of its own forms passes over the rows of all running
/// sequences, so that a pass reads each expert once for all of them. What a request gets does not
/// depend on the others, nor on what was in memory.
///
/// Sequences stay in memory after their request, with three points each to which they can go back:
/// the end of their last prompt, the start of the last pass over a prompt, and that of the pass in
/// which the prompt parts from others (EngineRequest::shared, or else where it differs from one
/// that was in memory). A request whose prompt begins like one of them goes on from there. One
/// whose prompt another request is just running waits for that.
///
/// Cancelling ends a pass that runs a prompt within a layer, and the others in it repeat it; a pass
/// over answers alone runs to its end, which keeps what has been generated.
///
/// Any thread may call it.
class Engine {
 public:
  /// `loaded` was made for options.sequences and saved_points(); nobody else uses it while this
  /// lives. Throws Error(kOutOfMemory).
  Engine(model::LoadedModel& loaded, EngineOptions options);
  /// Cancels what is under way. All tickets must be gone.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// What LoadOptions must say for an engine of these options.
  static void prepare(model::LoadOptions& load, const EngineOptions& options);

  /// Several requests are taken together while there is a place for one of them. Nothing when the
  /// queue is full or the engine is closed. Throws Error(kInvalidInput) for what cannot be right,
  /// among it a prompt that does not fit the context.
  [[nodiscard]] std::optional<Ticket> submit(std::vector<EngineRequest> requests);
  [[nodiscard]] EngineStatus status() const;
  /// Takes no more requests and waits until those that are there have ended, at most for
  /// `timeout`; what has not ended by then is cancelled.
  void close(Nanos timeout);

 private:
  friend class Ticket;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::engine
