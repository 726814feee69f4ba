#pragma once
#include "server/reply_run.h"
#include "server/reply_writer.h"
#include "text/reply.h"

#include <string>
#include <utility>
#include <vector>

/// For tests of writers of lists of parts: what may happen to a reply.
namespace sluice::server {

struct ReplyStory {
  std::string name;
  std::vector<ReplyUpdate> updates;
};

inline void tell(ReplyWriter& writer, const ReplyStory& story) {
  writer.begin();
  for (const ReplyUpdate& update : story.updates) writer.take(update);
  writer.end();
}

inline std::vector<ReplyStory> reply_stories() {
  using Kind = text::ReplyEvent::Kind;
  const auto event = [](Kind kind, std::string text, size_t call = 0) {
    return ReplyUpdate{0, text::ReplyEvent{kind, std::move(text), call}};
  };
  const auto ended = [](ReplyEnded end) {
    end.generated = 9;
    end.reasoning = 2;
    return ReplyUpdate{0, std::move(end)};
  };
  const ReplyUpdate begun{0, ReplyBegun{7, 4}};
  const auto call = [&](std::vector<std::string> arguments, ReplyEnded end) {
    std::vector<ReplyUpdate> updates = {begun, event(Kind::kCallBegun, "f")};
    for (std::string& part : arguments) {
      updates.push_back(event(Kind::kArguments, std::move(part)));
    }
    updates.push_back(event(Kind::kCallEnded, ""));
    end.calls = 1;
    updates.push_back(ended(std::move(end)));
    return updates;
  };
  return {
      {"all parts",
       {begun, event(Kind::kReasoning, "h"), event(Kind::kReasoning, "m"),
        event(Kind::kContent, "Hel"), event(Kind::kContent, "lo"), event(Kind::kCallBegun, "f"),
        event(Kind::kArguments, R"({"a":")"), event(Kind::kArguments, "x"),
        event(Kind::kArguments, "\""), event(Kind::kArguments, R"(,"b":1.50})"),
        event(Kind::kCallEnded, ""), event(Kind::kCallBegun, "g", 1),
        event(Kind::kArguments, "{}", 1), event(Kind::kCallEnded, "", 1), ended({.calls = 2})}},
      {"nothing", {begun, ended({})}},
      {"cut text", {begun, event(Kind::kContent, "He"), ended({.end = text::ReplyEnd::kCut})}},
      {"cut call", call({R"({"a":")", "x", "\"", "}"}, {.end = text::ReplyEnd::kCut})},
      {"stop string",
       {begun, event(Kind::kContent, "He"),
        ended({.end = text::ReplyEnd::kStopString, .stop_string = "llo"})}},
      {"reasoning that was meant as the answer",
       {begun, event(Kind::kReasoning, "Hi"), event(Kind::kContent, "Hi"), ended({})}},
      {"a call of one JSON text", call({"{", "\"a\": [1", ", 2]}"}, {})},
      {"a call without JSON", call({"{\"a", "\": oh"}, {})},
      {"a call of no object", call({"[1]"}, {})},
      {"text that goes on after a call",
       {begun, event(Kind::kContent, "A"), event(Kind::kCallBegun, "f"),
        event(Kind::kArguments, "{}"), event(Kind::kCallEnded, ""), event(Kind::kContent, "B"),
        ended({.calls = 1})}},
  };
}

inline const ReplyStory& reply_story(const std::string& name) {
  static const std::vector<ReplyStory> stories = reply_stories();
  for (const ReplyStory& story : stories) {
    if (story.name == name) return story;
  }
  return stories.at(stories.size());  // Throws.
}

}  // namespace sluice::server
