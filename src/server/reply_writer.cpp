#include "server/reply_writer.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Nanos kLookInterval = std::chrono::milliseconds(50);  // For a client that has gone.
constexpr Nanos kProgressInterval = std::chrono::seconds(1);

/// What the metrics are told about the choices of a reply.
class ReplyTimes {
 public:
  ReplyTimes(const ReplyOrder& order, Metrics& metrics)
      : metrics_(metrics), choices_(order.replies()), started_(Clock::now()) {
    for (Choice& choice : choices_) {
      choice.figures.max_tokens = order.max_tokens.value_or(0);
      choice.figures.choices = order.choices;
    }
  }
  /// What has not ended was given up.
  ~ReplyTimes() {
    for (Choice& choice : choices_) {
      if (!choice.told) tell(choice, "abort");
    }
  }
  ReplyTimes(const ReplyTimes&) = delete;
  ReplyTimes& operator=(const ReplyTimes&) = delete;

  void take(const ReplyUpdate& update) {
    Choice& choice = choices_[update.choice];
    if (const auto* begun = std::get_if<ReplyBegun>(&update.what)) {
      choice.figures.prompt = begun->prompt;
    } else if (const auto* ended = std::get_if<ReplyEnded>(&update.what)) {
      choice.figures.generated = ended->generated;
      choice.figures.queued = ended->queued;
      choice.figures.prefill = ended->prefill;
      choice.figures.decode = ended->decode;
      tell(choice, text::finish_reason(ended->end, ended->calls));
    } else if (std::holds_alternative<ReplyFailed>(update.what)) {
      tell(choice, "error");
    } else if (std::holds_alternative<TokenSeen>(update.what)) {
      count_token(choice);
    }
  }

 private:
  struct Choice {
    FinishedRequest figures{};
    Clock::time_point last{};  // When a token of it came.
    bool began = false, told = false;
  };

  void count_token(Choice& choice) {
    const Clock::time_point now = Clock::now();
    if (choice.began) {
      metrics_.token_gap(now - choice.last);
    } else {
      choice.figures.first_token = now - started_;
    }
    choice.began = true;
    choice.last = now;
  }

  void tell(Choice& choice, std::string_view reason) {
    choice.told = true;
    choice.figures.reason = reason;
    choice.figures.total = Clock::now() - started_;
    metrics_.finished(choice.figures);
  }

  Metrics& metrics_;
  std::vector<Choice> choices_;
  const Clock::time_point started_;
};

}  // namespace

void write_reply(ReplyRun& run, ReplyWriter& writer, const HttpReply& reply,
                 const WritingOptions& options, Metrics& metrics) {
  ReplyTimes times(run.order(), metrics);
  writer.begin();
  Clock::time_point kept_alive = Clock::now(), told_progress{};
  bool answering = false;
  while (!run.over() && !reply.gone()) {
    if (const std::optional<ReplyUpdate> update = run.next(kLookInterval)) {
      times.take(*update);
      if (const auto* failed = std::get_if<ReplyFailed>(&update->what)) {
        writer.fail(failed->problem);
        return;
      }
      answering |= !std::holds_alternative<ReplyBegun>(update->what);
      writer.take(*update);
    }
    const Clock::time_point now = Clock::now();
    if (now - kept_alive >= options.keep_alive) {
      kept_alive = now;
      writer.keep_alive(run.progress());
    }
    if (!answering && now - told_progress >= kProgressInterval) {
      told_progress = now;
      writer.progress(run.progress());
    }
  }
  if (run.over()) writer.end();
}

void EventStream::begin(HttpHeaders headers) {
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");  // Proxies shall not hold events back.
  reply_.begin({.type = "text/event-stream; charset=utf-8", .headers = std::move(headers)});
}

void EventStream::data(std::string_view json) { reply_.write(fmt::format("data: {}\n\n", json)); }

void EventStream::event(std::string_view name, std::string_view json) {
  reply_.write(fmt::format("event: {}\ndata: {}\n\n", name, json));
}

void EventStream::comment(std::string_view text) { reply_.write(fmt::format(": {}\n\n", text)); }

}  // namespace sluice::server
