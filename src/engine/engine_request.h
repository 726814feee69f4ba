#pragma once
#include "engine/engine.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace sluice::engine {

/// Throws Error(kInvalidInput) for a request that this model cannot run.
void check_request(const EngineRequest& request, const model::LoadedModel& loaded);

/// What a caller holds a ticket of. Guarded by the engine.
struct TicketState {
  std::condition_variable happened{};
  std::deque<RequestEvent> events{};
};

/// A request from its submission to its end. What only the engine's thread uses is named so; all
/// else is guarded by the engine.
struct RunningRequest {
  RunningRequest(uint64_t ticket_id, uint32_t index_in_it, EngineRequest request, Nanos now)
      : ticket(ticket_id),
        index(index_in_it),
        wanted(std::move(request)),
        prompt(wanted.generate.prompt),
        queued(now) {}

  /// Makes the generation, after `cached` is known. For the engine's thread.
  void begin(uint32_t context);
  /// `rows` have run; `logits` follow the last of them, or are empty. The token that this chose, if
  /// any. For the engine's thread. Throws Error as sample() does.
  std::optional<TokenChosen> choose(uint32_t rows, std::span<const float> logits, Nanos now);
  [[nodiscard]] RequestEnded ended(FinishReason reason, Nanos now) const;
  /// Whether the pass, which begins after `run` tokens, runs into what is not shared any more. For
  /// the engine's thread.
  [[nodiscard]] bool parts_in_pass(uint32_t run) const {
    return run <= shared && shared < run + rows_in_pass;
  }

  const uint64_t ticket;
  const uint32_t index;  ///< Among those of the ticket.
  EngineRequest wanted;
  const std::vector<TokenId> prompt;
  bool cancelled = false;
  uint32_t cached = 0, prompt_run = 0;
  uint32_t rows_in_pass = 0;
  Nanos queued{}, started{}, answering{};

  std::optional<Generation> generation{};  ///< Of the engine's thread.
  size_t slot = 0;                         ///< Likewise.
  uint32_t shared = 0;                     ///< Likewise: as EngineRequest has it, or found out.
};

}  // namespace sluice::engine
