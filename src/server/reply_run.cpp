#include "server/reply_run.h"

#include "server/reply_guide.h"
#include "server/reply_reader.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

namespace sluice::server {
namespace {

// So that the choices of a request differ, and each is repeatable.
uint64_t seed_of_choice(uint64_t seed, uint32_t choice) {
  return seed + choice * uint64_t{0x9E3779B97F4A7C15};
}

Problem context_exceeded(uint32_t prompt, uint32_t context) {
  return {
      .status = 400,
      .message = fmt::format("the prompt has {} tokens, and this server's maximum context length "
                             "is {} tokens for prompt and answer together: shorten the messages, "
                             "or start the server with a larger --context",
                             prompt, context),
      .code = "context_length_exceeded",
      .prompt_tokens = prompt,
      .context = context};
}

Problem no_place(const engine::EngineStatus& status) {
  if (status.closed) {
    return {.status = 503, .message = "the server is shutting down", .retry_seconds = 10};
  }
  return {
      .status = 429,
      .message = fmt::format("the queue is full ({} running, {} waiting; --max-queue is the most "
                             "that may wait): try again later",
                             status.running, status.waiting),
      .code = "server_busy",
      .retry_seconds = 1};
}

const std::vector<TokenId>& prompt_of(const ReplyOrder& order, uint32_t reply) {
  const uint32_t prompt = reply / order.choices;
  return prompt == 0 ? order.prompt : order.more_prompts[prompt - 1];
}

std::vector<engine::EngineRequest> requests_of(const ServedModel& model, const ReplyOrder& order) {
  std::vector<TokenId> stop_ids = order.stop_ids;
  if (!order.ignore_eos)
    std::ranges::copy(model.tokenizer.special().ends(), std::back_inserter(stop_ids));
  const size_t shared = order.chat ? text::preamble_tokens(model.tokenizer, *order.chat) : 0;
  std::vector<engine::EngineRequest> requests;
  for (uint32_t reply = 0; reply < order.replies(); ++reply) {
    engine::EngineRequest& request = requests.emplace_back();
    const std::vector<TokenId>& prompt = prompt_of(order, reply);
    const auto room = model.loaded.options().context - static_cast<uint32_t>(prompt.size());
    request.generate.prompt = prompt;
    request.generate.max_new = std::min(order.max_tokens.value_or(room), room);
    request.generate.sampling = order.sampling;
    request.generate.sampling.seed = seed_of_choice(order.sampling.seed, reply % order.choices);
    request.generate.stop_ids = stop_ids;
    request.logit_bias = order.logit_bias;
    request.logprobs = order.logprobs;
    request.top_logprobs = order.top_logprobs;
    request.guide = make_guide(model, order);
    request.shared = static_cast<uint32_t>(shared);
  }
  return requests;
}

}  // namespace

struct ReplyRun::Impl {
  Impl(const ServedModel& model, ReplyOrder wanted, engine::Ticket submitted)
      : order(std::move(wanted)), ticket(std::move(submitted)), open(order.replies()) {
    for (uint32_t choice = 0; choice < order.replies(); ++choice) {
      readers.push_back(std::make_unique<ReplyReader>(
          order, model.tokenizer, [this, choice](text::ReplyEvent event) {
            updates.push_back({choice, std::move(event)});
          }));
    }
  }

  void take(engine::RequestEvent happened) {
    const uint32_t choice = happened.index;
    if (const auto* started = std::get_if<engine::RequestStarted>(&happened.event)) {
      updates.push_back({choice, ReplyBegun{started->prompt, started->cached}});
    } else if (auto* chosen = std::get_if<engine::TokenChosen>(&happened.event)) {
      take_token(choice, std::move(*chosen));
    } else if (const auto* ended = std::get_if<engine::RequestEnded>(&happened.event)) {
      end(choice, *ended);
    } else {
      --open;
      updates.push_back({choice, ReplyFailed{problem_of(std::get<Error>(happened.event))}});
    }
  }

  void take_token(uint32_t choice, engine::TokenChosen chosen) {
    ReplyReader& reader = *readers[choice];
    const size_t before = updates.size();
    const text::Channel channel = reader.push(chosen.token);
    updates.insert(updates.begin() + static_cast<ptrdiff_t>(before),
                   {choice, TokenSeen{std::move(chosen), channel}});
  }

  void end(uint32_t choice, const engine::RequestEnded& ended) {
    --open;
    if (ended.reason == engine::FinishReason::kCancelled) {
      updates.push_back(
          {choice, ReplyFailed{{.status = 503,
                                .message = "the answer was cut off: the server is shutting down",
                                .retry_seconds = 10}}});
      return;
    }
    ReplyReader& reader = *readers[choice];
    reader.finish();
    updates.push_back({choice, ReplyEnded{.end = reader.end(),
                                          .stop_string = reader.stop_string(),
                                          .stop_id = reader.stop_id(),
                                          .calls = reader.calls(),
                                          .generated = reader.tokens(),
                                          .reasoning = reader.reasoning_tokens(),
                                          .queued = ended.queued,
                                          .prefill = ended.prefill,
                                          .decode = ended.decode}});
  }

  const ReplyOrder order;
  engine::Ticket ticket;
  std::vector<std::unique_ptr<ReplyReader>> readers{};  // By choice.
  uint32_t open;                                        // Choices.
  std::deque<ReplyUpdate> updates{};
};

std::optional<ReplyRun> ReplyRun::start(const ServedModel& model, ReplyOrder order,
                                        Problem& problem) {
  const uint32_t context = model.loaded.options().context;
  for (uint32_t reply = 0; reply < order.replies(); reply += order.choices) {
    const std::vector<TokenId>& prompt = prompt_of(order, reply);
    if (prompt.size() < context) continue;
    problem = context_exceeded(static_cast<uint32_t>(prompt.size()), context);
    problem.param = order.chat ? "messages" : "prompt";
    return std::nullopt;
  }
  std::optional<engine::Ticket> ticket = model.engine.submit(requests_of(model, order));
  if (!ticket) {
    problem = no_place(model.engine.status());
    return std::nullopt;
  }
  return ReplyRun(std::make_unique<Impl>(model, std::move(order), std::move(*ticket)));
}

ReplyRun::ReplyRun(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReplyRun::ReplyRun(ReplyRun&&) noexcept = default;
ReplyRun& ReplyRun::operator=(ReplyRun&&) noexcept = default;
ReplyRun::~ReplyRun() = default;

std::optional<ReplyUpdate> ReplyRun::next(Nanos timeout) {
  Impl& impl = *impl_;
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (impl.updates.empty() && impl.open > 0) {
    const Nanos left = end - std::chrono::steady_clock::now();
    std::optional<engine::RequestEvent> happened = impl.ticket.next(std::max(left, Nanos{0}));
    if (!happened) break;
    impl.take(std::move(*happened));
  }
  if (impl.updates.empty()) return std::nullopt;
  ReplyUpdate update = std::move(impl.updates.front());
  impl.updates.pop_front();
  return update;
}

bool ReplyRun::over() const { return impl_->open == 0 && impl_->updates.empty(); }
engine::RequestProgress ReplyRun::progress() const { return impl_->ticket.progress(); }
const ReplyOrder& ReplyRun::order() const { return impl_->order; }

}  // namespace sluice::server
