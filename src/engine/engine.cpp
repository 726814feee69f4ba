#include "engine/engine.h"

#include "base/check.h"
#include "base/start_thread.h"
#include "engine/engine_request.h"
#include "engine/pass_plan.h"
#include "engine/sequence_slots.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace sluice::engine {

struct Engine::Impl {
  Impl(model::LoadedModel& model, EngineOptions wanted)
      : loaded(model),
        options(wanted),
        slots(model, wanted.sequences),
        logits(size_t{wanted.sequences} * model.shape().vocab) {
    SLUICE_CHECK(options.sequences > 0 && options.sequences <= loaded.options().sequences &&
                 options.sequences <= loaded.model().options().logits_rows_max);
    loaded.model().set_cancel_flag(&abort);
    thread = start_thread([this] { run(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      closed = stopping = true;
      for (RunningRequest& request : requests) cancel(request);
    }
    work.notify_all();
    thread.join();
    loaded.model().set_cancel_flag(nullptr);
  }

  // --- For any thread, under the mutex ---

  void cancel(RunningRequest& request) {
    request.cancelled = true;
    if (request.rows_in_pass > 0 && pass_has_prompt) abort = true;
    work.notify_all();
  }

  template <class Event>
  void tell(const RunningRequest& request, Event event) {
    const auto ticket = tickets.find(request.ticket);
    if (ticket == tickets.end()) return;
    ticket->second.events.push_back({request.index, EngineEvent(std::move(event))});
    ticket->second.happened.notify_all();
  }

  [[nodiscard]] RequestProgress progress_of(const RunningRequest& request) const {
    RequestProgress progress{.rows = request.prompt_run,
                             .rows_of = static_cast<uint32_t>(request.prompt.size())};
    const auto place = std::ranges::find(waiting, &request);
    if (place != waiting.end()) {
      progress.waiting = true;
      progress.ahead = static_cast<uint32_t>(place - waiting.begin());
      return progress;
    }
    const uint32_t layers = loaded.shape().layers;
    if (request.prompt_run < progress.rows_of) {
      const uint32_t run = request.rows_in_pass * loaded.model().layers_done() / layers;
      progress.rows += run;
      const double done = progress.rows - request.cached;
      const double elapsed = to_seconds(loaded.drives().now() - request.started);
      if (done > 0) progress.seconds_left = elapsed / done * (progress.rows_of - progress.rows);
    }
    return progress;
  }

  // --- For the engine's thread ---

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [&] { return stopping || !waiting.empty() || !running.empty(); });
      drop_cancelled();
      admit();
      if (running.empty() && waiting.empty()) {
        if (stopping) return;
        continue;
      }
      plan();
      lock.unlock();
      const std::optional<Error> error = pass();
      lock.lock();
      finish_pass(error);
    }
  }

  void drop_cancelled() {
    for (RunningRequest* request : std::vector(waiting.begin(), waiting.end())) {
      if (request->cancelled) end(*request, FinishReason::kCancelled);
    }
    for (RunningRequest* request : std::vector(running)) {
      if (!request->cancelled) continue;
      request->generation->finish(FinishReason::kCancelled);
      end(*request, FinishReason::kCancelled);
    }
  }

  void admit() {
    for (auto it = waiting.begin(); it != waiting.end();) {
      RunningRequest& request = **it;
      const std::optional<PrefixChoice> choice = slots.choose(request.prompt);
      if (!choice) return;
      if (someone_runs_prompt_of(request, choice->length)) {
        ++it;
        continue;
      }
      it = waiting.erase(it);
      start(request, *choice);
    }
  }

  // Then its end is a better beginning than what is held now.
  [[nodiscard]] bool someone_runs_prompt_of(const RunningRequest& request, uint32_t held) const {
    return std::ranges::any_of(running, [&](const RunningRequest* other) {
      const auto size = static_cast<uint32_t>(other->prompt.size());
      return other->prompt_run < size && size > held &&
             common_prefix(other->prompt, request.prompt) == size;
    });
  }

  void start(RunningRequest& request, const PrefixChoice& choice) {
    request.started = loaded.drives().now();
    request.slot = choice.slot;
    request.cached = request.prompt_run = choice.length;
    request.shared =
        request.wanted.shared > 0 ? request.wanted.shared : slots.common_with(request.prompt);
    status.cached_tokens += choice.length;
    const std::vector<float> first = slots.take(choice, request.prompt);
    running.push_back(&request);
    tell(request, RequestStarted{.cached = request.cached,
                                 .prompt = static_cast<uint32_t>(request.prompt.size())});
    request.begin(loaded.options().context);
    if (!first.empty()) deliver(request, 1, first);
  }

  // What runs next, and from then on who can be cancelled how.
  void plan() {
    std::vector<WaitingRows> rows;
    for (const RunningRequest* request : running) {
      const auto left = static_cast<uint32_t>(request->generation->next_rows(rows_max()).size());
      rows.push_back({.rows = left, .prompt = request->generation->in_prompt()});
    }
    const std::vector<uint32_t> planned = plan_pass(rows, rows_max());
    pass_has_prompt = false;
    for (size_t i = 0; i < running.size(); ++i) {
      running[i]->rows_in_pass = planned[i];
      pass_has_prompt |= rows[i].prompt && planned[i] > 1;
    }
    abort = false;
    status.in_pass = true;
  }

  std::optional<Error> pass() {
    tokens.clear();
    states.clear();
    logits_rows.clear();
    bool another = false;
    for (RunningRequest* request : running) {
      if (request->rows_in_pass == 0) continue;
      if (pass_has_prompt) slots.save_pass_point(request->slot);
      if (request->parts_in_pass(slots.length(request->slot))) {
        slots.save_shared_point(request->slot);
      }
      const auto rows = request->generation->next_rows(request->rows_in_pass);
      tokens.insert(tokens.end(), rows.begin(), rows.end());
      states.resize(tokens.size(), &slots.state(request->slot));
      if (request->generation->wants_logits(request->rows_in_pass)) {
        logits_rows.push_back(static_cast<uint32_t>(tokens.size() - 1));
      }
      another |= request->generation->expects_more_after(request->rows_in_pass);
    }
    const auto before = stream::ReadingCounters::of(loaded.streamer());
    const Nanos start_time = loaded.drives().now();
    try {
      loaded.model().forward({.tokens = tokens,
                              .states = states,
                              .logits_rows = logits_rows,
                              .another_follows = another || running.size() > 1},
                             std::span(logits).first(logits_rows.size() * loaded.shape().vocab));
    } catch (const Error& error) {
      return error;
    } catch (const std::bad_alloc&) {
      return Error(ErrorCode::kOutOfMemory, "the system refused memory; give a smaller --memory");
    }
    pass_stats = {.tokens = tokens.size(),
                  .passes = 1,
                  .elapsed = loaded.drives().now() - start_time,
                  .reading = stream::ReadingCounters::of(loaded.streamer()).since(before)};
    return std::nullopt;
  }

  void finish_pass(const std::optional<Error>& error) {
    status.in_pass = false;
    if (error) {
      give_up_pass(*error);
      return;
    }
    bool had_prompt = false;
    size_t row = 0;
    for (RunningRequest* request : std::vector(running)) {
      const uint32_t rows = std::exchange(request->rows_in_pass, 0);
      if (rows == 0) continue;
      had_prompt |= request->generation->in_prompt();
      slots.append(request->slot, request->generation->next_rows(rows));
      const bool wanted = request->generation->wants_logits(rows);
      const size_t vocab = loaded.shape().vocab;
      deliver(*request, rows,
              wanted ? std::span(logits).subspan(row++ * vocab, vocab) : std::span<float>());
    }
    (had_prompt ? status.prefill : status.decode).add(pass_stats);
  }

  // A cancelled pass is repeated by those that go on; any other error ends all that were in it.
  void give_up_pass(const Error& error) {
    for (RunningRequest* request : std::vector(running)) {
      if (std::exchange(request->rows_in_pass, 0) == 0) continue;
      slots.go_back(request->slot);
      if (error.code() != ErrorCode::kCancelled) fail(*request, error);
    }
  }

  void deliver(RunningRequest& request, uint32_t rows, std::span<const float> row) {
    const bool in_prompt = request.generation->in_prompt();
    if (in_prompt) {
      const uint32_t run =
          std::min(static_cast<uint32_t>(request.prompt.size()), slots.length(request.slot));
      status.prompt_tokens += run - std::exchange(request.prompt_run, run);
    }
    if (in_prompt && !row.empty()) slots.save_prompt_point(request.slot, row);
    try {
      if (std::optional<TokenChosen> chosen = request.choose(rows, row, loaded.drives().now())) {
        ++status.generated_tokens;
        tell(request, std::move(*chosen));
      }
    } catch (const Error& error) {
      fail(request, error);
      return;
    }
    if (request.generation->next_rows(1).empty()) end(request, request.generation->reason());
  }

  void end(RunningRequest& request, FinishReason reason) {
    switch (reason) {
      case FinishReason::kStop:
        ++status.ended_by_stop;
        break;
      case FinishReason::kLength:
      case FinishReason::kContext:
        ++status.ended_by_length;
        break;
      case FinishReason::kCancelled:
        ++status.cancelled;
        break;
    }
    tell(request, request.ended(reason, loaded.drives().now()));
    leave(request);
  }

  void fail(RunningRequest& request, const Error& error) {
    ++status.failed;
    tell(request, error);
    leave(request);
  }

  // The request is gone then.
  void leave(RunningRequest& request) {
    std::erase(waiting, &request);
    const auto place = std::ranges::find(running, &request);
    if (place != running.end()) {
      running.erase(place);
      slots.release(request.slot);
    }
    requests.remove_if([&](const RunningRequest& other) { return &other == &request; });
    if (requests.empty()) idle.notify_all();
  }

  [[nodiscard]] uint32_t rows_max() const { return loaded.model().options().rows_max; }

  model::LoadedModel& loaded;
  const EngineOptions options;

  mutable std::mutex mutex;  // Guards what follows, but for what only the engine's thread uses.
  std::condition_variable work, idle;
  std::map<uint64_t, TicketState> tickets;  // That callers hold.
  std::list<RunningRequest> requests;       // That have not ended, in order of submission.
  std::deque<RunningRequest*> waiting;
  std::vector<RunningRequest*> running;
  uint64_t next_ticket = 1;
  bool closed = false, stopping = false, pass_has_prompt = false;
  EngineStatus status;

  std::atomic<bool> abort{false};
  SequenceSlots slots;  // Of the engine's thread, as all below.
  std::vector<TokenId> tokens;
  std::vector<model::SequenceState*> states;
  std::vector<uint32_t> logits_rows;
  std::vector<float> logits;
  PhaseStats pass_stats;
  std::thread thread;
};

Ticket::Ticket(Ticket&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), id_(other.id_) {}

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  std::swap(engine_, other.engine_);
  std::swap(id_, other.id_);
  return *this;
}

Ticket::~Ticket() {
  if (engine_ == nullptr) return;
  Engine::Impl& impl = *engine_->impl_;
  const std::lock_guard lock(impl.mutex);
  impl.tickets.erase(id_);
  for (RunningRequest& request : impl.requests) {
    if (request.ticket == id_) impl.cancel(request);
  }
}

std::optional<RequestEvent> Ticket::next(Nanos timeout) {
  Engine::Impl& impl = *engine_->impl_;
  std::unique_lock lock(impl.mutex);
  TicketState& state = impl.tickets.at(id_);
  state.happened.wait_for(lock, timeout, [&] { return !state.events.empty(); });
  if (state.events.empty()) return std::nullopt;
  std::optional<RequestEvent> event(std::move(state.events.front()));
  state.events.pop_front();
  return event;
}

RequestProgress Ticket::progress() const {
  const Engine::Impl& impl = *engine_->impl_;
  const std::lock_guard lock(impl.mutex);
  const auto request = std::ranges::find(impl.requests, id_, &RunningRequest::ticket);
  return request == impl.requests.end() ? RequestProgress{} : impl.progress_of(*request);
}

Engine::Engine(model::LoadedModel& loaded, EngineOptions options)
    : impl_(std::make_unique<Impl>(loaded, options)) {}
Engine::~Engine() = default;

void Engine::prepare(model::LoadOptions& load, const EngineOptions& options) {
  load.sequences = options.sequences;
  load.saved_points = options.sequences * SequenceSlots::kPointsOfSlot;
  load.logits_rows = options.sequences;
}

std::optional<Ticket> Engine::submit(std::vector<EngineRequest> requests) {
  SLUICE_CHECK(!requests.empty());
  for (const EngineRequest& request : requests) check_request(request, impl_->loaded);
  const std::lock_guard lock(impl_->mutex);
  const EngineOptions& options = impl_->options;
  if (impl_->closed || impl_->requests.size() >= options.sequences + options.queue_max) {
    ++impl_->status.refused;
    return std::nullopt;
  }
  const uint64_t ticket = impl_->next_ticket++;
  impl_->tickets.try_emplace(ticket);
  const Nanos now = impl_->loaded.drives().now();
  for (size_t i = 0; i < requests.size(); ++i) {
    impl_->waiting.push_back(&impl_->requests.emplace_back(ticket, static_cast<uint32_t>(i),
                                                           std::move(requests[i]), now));
  }
  impl_->work.notify_all();
  return Ticket(*this, ticket);
}

EngineStatus Engine::status() const {
  const std::lock_guard lock(impl_->mutex);
  EngineStatus status = impl_->status;
  status.closed = impl_->closed;
  status.running = static_cast<uint32_t>(impl_->running.size());
  status.waiting = static_cast<uint32_t>(impl_->waiting.size());
  status.layers = impl_->loaded.shape().layers;
  status.layers_done = status.in_pass ? impl_->loaded.model().layers_done() : 0;
  for (const RunningRequest* request : impl_->running) status.pass_rows += request->rows_in_pass;
  status.tokens_held = impl_->slots.tokens_held();
  status.tokens_max = impl_->options.sequences * impl_->loaded.options().context;
  return status;
}

void Engine::close(Nanos timeout) {
  std::unique_lock lock(impl_->mutex);
  impl_->closed = true;
  const auto is_idle = [&] { return impl_->requests.empty(); };
  if (impl_->idle.wait_for(lock, timeout, is_idle)) return;
  for (RunningRequest& request : impl_->requests) impl_->cancel(request);
  impl_->idle.wait(lock, is_idle);
}

}  // namespace sluice::engine
