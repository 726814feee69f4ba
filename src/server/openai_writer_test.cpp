// Without this, clients that stream could get another answer than those that wait for the whole.
#include "server/openai_chat_writer.h"
#include "server/openai_completions_writer.h"
#include "server/recorded_reply.h"
#include "text/test_support.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using Json = nlohmann::ordered_json;
using Kind = text::ReplyEvent::Kind;
using testing::ElementsAre;
using text::Channel;

const text::Tokenizer& tokenizer() {
  static const text::Tokenizer made =
      text::make_tokenizer(std::vector<std::string>{"Hel", "lo", " world", "hm"});
  return made;
}

// The id of the token with these bytes.
TokenId token(std::string_view bytes) {
  for (int32_t id = 0;; ++id) {
    if (tokenizer().bytes(TokenId{id}) == bytes) return TokenId{id};
  }
}

ReplyUpdate begun(uint32_t prompt, uint32_t cached, uint32_t choice = 0) {
  return {choice, ReplyBegun{prompt, cached}};
}
ReplyUpdate seen(std::string_view bytes, Channel channel, uint32_t choice = 0) {
  engine::TokenChosen chosen{.token = token(bytes), .logprob = -0.5F};
  chosen.top = {{token("lo"), -0.25F}, {token("hm"), -INFINITY}};
  return {choice, TokenSeen{std::move(chosen), channel}};
}
ReplyUpdate event(Kind kind, std::string text, size_t call = 0, uint32_t choice = 0) {
  return {choice, text::ReplyEvent{kind, std::move(text), call}};
}
ReplyUpdate content(std::string text, uint32_t choice = 0) {
  return event(Kind::kContent, std::move(text), 0, choice);
}
ReplyUpdate ended(ReplyEnded end, uint32_t choice = 0) {
  end.prefill = std::chrono::milliseconds(40);
  end.decode = std::chrono::milliseconds(100);
  return {choice, std::move(end)};
}

struct Story {
  std::string name;
  std::vector<ReplyUpdate> updates;
  uint32_t choices = 1;
};

std::vector<Story> stories() {
  return {
      {"plain",
       {begun(7, 4), seen("hm", Channel::kReasoning), event(Kind::kReasoning, "h"),
        event(Kind::kReasoning, "m"), seen("Hel", Channel::kContent), content("Hel"),
        seen("lo", Channel::kContent), content("lo"), seen("a", Channel::kMarkup),
        ended({.generated = 4, .reasoning = 1})}},
      {"a character of four tokens",
       {begun(7, 0), seen("\xF0", Channel::kContent), seen("\x9F", Channel::kContent),
        seen("\x99", Channel::kContent), seen("\x82", Channel::kContent),
        content("\xF0\x9F\x99\x82"), ended({.end = text::ReplyEnd::kCut, .generated = 4})}},
      {"calls",
       {begun(9, 0), event(Kind::kReasoning, "plan"), seen("{", Channel::kMarkup),
        event(Kind::kCallBegun, "f", 0), event(Kind::kArguments, "{\"a\":", 0),
        event(Kind::kArguments, "1}", 0), event(Kind::kCallEnded, "", 0),
        event(Kind::kCallBegun, "g", 1), event(Kind::kCallEnded, "", 1),
        ended({.calls = 2, .generated = 9, .reasoning = 1})}},
      {"text and a call",
       {begun(9, 0), content("See:"), event(Kind::kCallBegun, "f", 0),
        event(Kind::kArguments, "{}", 0), event(Kind::kCallEnded, "", 0),
        ended({.calls = 1, .generated = 9})}},
      {"two choices",
       {begun(7, 4), begun(7, 7, 1), content("A1", 1), content("B0", 0), content("A2", 1),
        seen("a", Channel::kMarkup, 1), ended({.end = text::ReplyEnd::kCut, .generated = 5}, 1),
        content("B1", 0), ended({.generated = 3}, 0)},
       2},
      {"a stop string, whose token has a probability and no text",
       {begun(7, 0), seen("Hel", Channel::kContent), content("Hel"), seen("lo", Channel::kContent),
        ended({.end = text::ReplyEnd::kStopString, .stop_string = "lo", .generated = 2})}},
      {"a stop id", {begun(7, 0), content("x"), ended({.stop_id = TokenId{42}, .generated = 2})}},
      {"reasoning that was meant as the answer",
       {begun(7, 0), event(Kind::kReasoning, "plan "), event(Kind::kReasoning, "Hello"),
        event(Kind::kContent, "Hello"), ended({.generated = 3, .reasoning = 3})}},
      {"nothing", {begun(7, 7), ended({.generated = 1})}},
  };
}

// Chunks of a stream; fails when it does not end as it has to.
std::vector<Json> chunks_of(const RecordedReply& reply) {
  std::vector<std::string> blocks = reply.blocks();
  EXPECT_EQ(blocks.back(), "data: [DONE]");
  blocks.pop_back();
  std::vector<Json> chunks;
  for (const std::string& block : blocks) {
    EXPECT_THAT(block, testing::StartsWith("data: "));
    chunks.push_back(Json::parse(block.substr(6)));
  }
  return chunks;
}

void append(Json& to, const Json& from) {
  if (from.is_null()) return;
  if (to.is_null()) {
    to = from;
  } else if (from.is_string()) {
    to = to.get<std::string>() + from.get<std::string>();
  } else if (from.is_object()) {
    for (const auto& [key, value] : from.items()) append(to[key], value);
  } else {
    for (const Json& item : from) to.push_back(item);
  }
}

// As a client adds up the tool calls of deltas.
void append_calls(Json& calls, const Json& deltas) {
  ASSERT_FALSE(deltas.empty());
  for (const Json& delta : deltas) {
    const auto index = delta["index"].get<size_t>();
    ASSERT_LE(index, calls.size());
    if (index == calls.size()) {
      EXPECT_THAT(delta["id"].get<std::string>(), testing::StartsWith("call_"));
      calls.push_back({{"type", delta["type"]}, {"function", delta["function"]}});
    } else {
      EXPECT_FALSE(delta.contains("id") || delta["function"].contains("name"));
      append(calls[index]["function"]["arguments"], delta["function"]["arguments"]);
    }
  }
}

void add_chat_chunk(Json& choice, const Json& part) {
  Json& message = choice["message"];
  for (const auto& [key, value] : part["delta"].items()) {
    if (key == "tool_calls") {
      append_calls(message["tool_calls"], value);
    } else {
      append(message[key], value);
    }
  }
}

// The whole answer that a client makes of the chunks.
Json add_up(const std::vector<Json>& chunks) {
  Json whole;
  for (const Json& chunk : chunks) {
    for (const char* key : {"id", "created", "model", "system_fingerprint"}) {
      EXPECT_EQ(chunk[key], chunks[0][key]);
      whole[key] = chunk[key];
    }
    for (const char* key : {"usage", "timings", "prompt_token_ids"}) {
      if (chunk.contains(key) && !chunk[key].is_null()) whole[key] = chunk[key];
    }
    for (const Json& part : chunk["choices"]) {
      Json& choice = whole["choices"][part["index"].get<size_t>()];
      choice["index"] = part["index"];
      if (part.contains("delta")) add_chat_chunk(choice, part);
      for (const char* key : {"text", "logprobs", "token_ids", "prompt_token_ids"}) {
        if (part.contains(key)) append(choice[key], part[key]);
      }
      EXPECT_FALSE(choice.contains("finish_reason")) << "a chunk after the last";
      if (part["finish_reason"].is_null()) continue;
      choice["finish_reason"] = part["finish_reason"];
      choice["stop_reason"] = part["stop_reason"];
    }
  }
  return whole;
}

// Without what a stream has no word for: that nothing came.
Json comparable(Json whole) {
  whole.erase("object");
  for (Json& choice : whole["choices"]) {
    Json& logprobs = choice["logprobs"];
    if (logprobs.is_object()) {
      logprobs.erase("refusal");
      const bool is_empty = std::ranges::all_of(logprobs, &Json::empty);
      if (is_empty) logprobs = nullptr;
    }
    if (!choice.contains("message")) continue;
    Json& message = choice["message"];
    message.erase("refusal");
    for (const char* key : {"content", "reasoning_content", "reasoning"}) {
      if (message.contains(key) && (message[key].is_null() || message[key] == "")) {
        message.erase(key);
      }
    }
    if (!message.contains("tool_calls")) continue;
    for (Json& call : message["tool_calls"]) call.erase("id");
  }
  return Json(nlohmann::json(whole));  // In the order of keys.
}

const AnswerHead kHead{.id = "id-1", .created = 5, .model = "nano", .fingerprint = "fp"};

std::unique_ptr<ReplyWriter> chat_writer(AnswerForm form, RecordedReply& reply,
                                         bool reasoning = true) {
  return make_chat_writer({.common = form, .reasoning = reasoning, .prompt = {TokenId{1}}}, kHead,
                          tokenizer(), reply);
}

std::unique_ptr<ReplyWriter> completion_writer(const AnswerForm& form, const std::string& echo,
                                               RecordedReply& reply) {
  return make_completion_writer({.common = form, .echo = {echo}, .prompts = {{TokenId{1}}}}, kHead,
                                tokenizer(), reply);
}

void tell(ReplyWriter& writer, const Story& story) {
  writer.begin();
  for (const ReplyUpdate& update : story.updates) writer.take(update);
  writer.end();
}

const AnswerForm kForms[] = {
    {.usage = true},
    {.usage = true, .continuous_usage = true},
    {.usage = true, .token_ids = true, .logprobs = true},
};

TEST(ChatWriter, AStreamAddsUpToTheWhole) {
  for (const Story& story : stories()) {
    for (AnswerForm form : kForms) {
      for (const bool reasoning : {true, false}) {
        SCOPED_TRACE(fmt::format("{}, reasoning {}", story.name, reasoning));
        form.choices = story.choices;
        RecordedReply whole, stream;
        form.stream = false;
        tell(*chat_writer(form, whole, reasoning), story);
        form.stream = true;
        tell(*chat_writer(form, stream, reasoning), story);
        EXPECT_EQ(comparable(add_up(chunks_of(stream))),
                  comparable(Json::parse(whole.response.body)));
      }
    }
  }
}

TEST(CompletionWriter, AStreamAddsUpToTheWhole) {
  for (const Story& story : stories()) {
    const auto is_call = [](const ReplyUpdate& update) {
      const auto* told = std::get_if<text::ReplyEvent>(&update.what);
      return told != nullptr && told->kind != Kind::kContent;
    };
    if (std::ranges::any_of(story.updates, is_call)) continue;  // Of chats.
    for (AnswerForm form : kForms) {
      SCOPED_TRACE(story.name);
      form.choices = story.choices;
      RecordedReply whole, stream;
      form.stream = false;
      tell(*completion_writer(form, "Once ", whole), story);
      form.stream = true;
      tell(*completion_writer(form, "Once ", stream), story);
      EXPECT_EQ(comparable(add_up(chunks_of(stream))),
                comparable(Json::parse(whole.response.body)));
    }
  }
}

Json whole_chat(const std::string& name, AnswerForm form = {}) {
  for (const Story& story : stories()) {
    if (story.name != name) continue;
    form.choices = story.choices;
    RecordedReply reply;
    tell(*chat_writer(form, reply), story);
    EXPECT_TRUE(reply.sent);
    return Json::parse(reply.response.body);
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(ChatWriter, WritesAWholeAnswer) {
  const Json expected = Json::parse(R"({
      "id":"id-1","object":"chat.completion","created":5,"model":"nano","system_fingerprint":"fp",
      "choices":[{"index":0,
          "message":{"role":"assistant","content":"Hello","refusal":null,
                     "reasoning_content":"hm","reasoning":"hm"},
          "logprobs":null,"finish_reason":"stop","stop_reason":null}],
      "usage":{"prompt_tokens":7,"completion_tokens":4,"total_tokens":11,
               "prompt_tokens_details":{"cached_tokens":4},
               "completion_tokens_details":{"reasoning_tokens":1}},
      "timings":{"cache_n":4,"prompt_n":3,"prompt_ms":40.0,"prompt_per_token_ms":13.333333333333334,
                 "prompt_per_second":75.0,"predicted_n":4,"predicted_ms":100.0,
                 "predicted_per_token_ms":25.0,"predicted_per_second":40.0}})");
  EXPECT_EQ(whole_chat("plain"), expected);
}

TEST(ChatWriter, TellsWhyAReplyEnded) {
  const auto reasons = [](const std::string& name) {
    const Json choice = whole_chat(name)["choices"][0];
    return choice["finish_reason"].dump() + " " + choice["stop_reason"].dump();
  };
  EXPECT_EQ(reasons("calls"), R"("tool_calls" null)");
  EXPECT_EQ(reasons("a character of four tokens"), R"("length" null)");
  EXPECT_EQ(reasons("a stop string, whose token has a probability and no text"), R"("stop" "lo")");
  EXPECT_EQ(reasons("a stop id"), R"("stop" 42)");
}

TEST(ChatWriter, ContentIsNullBesideCallsAlone) {
  EXPECT_TRUE(whole_chat("calls")["choices"][0]["message"]["content"].is_null());
  EXPECT_EQ(whole_chat("text and a call")["choices"][0]["message"]["content"], "See:");
  const Json nothing = whole_chat("nothing")["choices"][0]["message"];
  EXPECT_EQ(nothing["content"], "");
  EXPECT_FALSE(nothing.contains("tool_calls"));
}

TEST(ChatWriter, CountsAPromptOnceAndTheTokensOfAllChoices) {
  const Json usage = whole_chat("two choices")["usage"];
  EXPECT_EQ(usage["prompt_tokens"], 7);
  EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], 4);
  EXPECT_EQ(usage["completion_tokens"], 8);
}

TEST(ChatWriter, ShowsTheBytesOfPartsOfCharacters) {
  const Json answer = whole_chat("a character of four tokens", {.logprobs = true});
  const Json& tokens = answer["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(tokens.size(), 4);
  EXPECT_EQ(tokens[0], Json::parse(R"({"token":"\ufffd","logprob":-0.5,"bytes":[240],
      "top_logprobs":[{"token":"lo","logprob":-0.25,"bytes":[108,111]},
                      {"token":"hm","logprob":-9999.0,"bytes":[104,109]}]})"));
  EXPECT_EQ(tokens[3]["bytes"], Json::parse("[130]"));
}

TEST(CompletionWriter, ListsTokensWithTheirPlaceInTheText) {
  RecordedReply reply;
  Story story{"",
              {begun(2, 0), seen("Hel", Channel::kContent), seen("\xC3", Channel::kContent),
               seen("\xA4", Channel::kContent), seen("lo", Channel::kContent),
               content("Hel\u00e4lo"), seen("a", Channel::kMarkup), ended({.generated = 5})}};
  tell(*completion_writer({.logprobs = true}, "", reply), story);
  const Json choice = Json::parse(reply.response.body)["choices"][0];
  EXPECT_EQ(choice["text"], "Hel\u00e4lo");
  const Json& logprobs = choice["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json::parse(R"(["Hel","\ufffd","\ufffd","lo"])"));
  EXPECT_EQ(logprobs["token_logprobs"], Json::parse("[-0.5,-0.5,-0.5,-0.5]"));
  EXPECT_EQ(logprobs["text_offset"], Json::parse("[0,3,3,4]"));
  EXPECT_EQ(logprobs["top_logprobs"][0], Json::parse(R"({"lo":-0.25,"hm":-9999.0,"Hel":-0.5})"));
  EXPECT_EQ(logprobs["top_logprobs"][3], Json::parse(R"({"lo":-0.25,"hm":-9999.0})"));
}

TEST(CompletionWriter, NumbersChoicesByPrompt) {
  RecordedReply reply;
  const auto writer = make_completion_writer({.common = {.choices = 2}, .echo = {"P", "Q"}}, kHead,
                                             tokenizer(), reply);
  writer->begin();
  for (uint32_t choice = 0; choice < 4; ++choice) {
    writer->take(begun(5 + choice / 2, 0, choice));
    writer->take(content(std::to_string(choice), choice));
    writer->take(ended({.generated = 1}, choice));
  }
  writer->end();
  const Json answer = Json::parse(reply.response.body);
  std::vector<std::string> texts;
  for (const Json& choice : answer["choices"]) texts.push_back(choice["text"]);
  EXPECT_THAT(texts, ElementsAre("P0", "P1", "Q2", "Q3"));
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 11);
  EXPECT_EQ(answer["timings"]["prompt_ms"], 80.0);
}

TEST(ChatStream, BeginsWithTheRoleOfEachChoiceAndTellsUsageOnceAsked) {
  RecordedReply reply;
  const auto writer = chat_writer({.stream = true, .usage = true, .choices = 2}, reply);
  writer->begin();
  EXPECT_TRUE(reply.began);
  EXPECT_EQ(reply.response.type, "text/event-stream; charset=utf-8");
  const std::vector<std::string> blocks = reply.blocks();
  ASSERT_EQ(blocks.size(), 2);
  EXPECT_EQ(blocks[1],
            R"(data: {"id":"id-1","object":"chat.completion.chunk","created":5,"model":"nano",)"
            R"("system_fingerprint":"fp","choices":[{"index":1,)"
            R"("delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],)"
            R"("usage":null})");
}

TEST(ChatStream, HasNoUsageUnlessAsked) {
  RecordedReply reply;
  tell(*chat_writer({.stream = true}, reply), stories()[0]);
  const std::vector<Json> chunks = chunks_of(reply);
  for (const Json& chunk : chunks) {
    EXPECT_FALSE(chunk.contains("usage"));
    EXPECT_EQ(chunk["choices"].size(), 1);
    const Json& delta = chunk["choices"][0]["delta"];
    const bool is_first = &chunk == chunks.data();
    EXPECT_EQ(delta.contains("content") && delta["content"] == "", is_first);
  }
  EXPECT_EQ(chunks.back()["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(chunks.back().contains("timings"));
}

TEST(ChatStream, TellsUsageAsItGrowsWhenAsked) {
  RecordedReply reply;
  tell(*chat_writer({.stream = true, .usage = true, .continuous_usage = true}, reply),
       stories()[0]);
  std::vector<Json> generated;
  for (const Json& chunk : chunks_of(reply))
    generated.push_back(chunk["usage"]["completion_tokens"]);
  EXPECT_EQ(Json(generated), Json::parse("[0,1,1,2,3,4,4]"));
}

TEST(ChatStream, KeepsAliveAndTellsOfProgress) {
  RecordedReply reply;
  const auto writer = chat_writer({.stream = true, .progress = true}, reply);
  writer->keep_alive({.waiting = true, .ahead = 2});
  writer->keep_alive({});
  writer->progress({.waiting = true, .ahead = 1});
  writer->take(begun(40, 16));
  writer->progress({.rows = 24, .rows_of = 40, .seconds_left = 1.5});
  const std::vector<std::string> blocks = reply.blocks();
  ASSERT_EQ(blocks.size(), 4);
  EXPECT_EQ(blocks[0], ": waiting, 2 ahead");
  EXPECT_EQ(blocks[1], ": keep-alive");
  EXPECT_EQ(blocks[2], ": waiting, 1 ahead");
  Json chunk = Json::parse(blocks[3].substr(6));
  EXPECT_TRUE(chunk["prompt_progress"].contains("time_ms"));
  chunk["prompt_progress"].erase("time_ms");
  EXPECT_EQ(chunk["prompt_progress"],
            Json::parse(R"({"total":40,"cache":16,"processed":24,"seconds_left":1.5})"));
  EXPECT_EQ(chunk["choices"][0]["delta"], Json::object());
}

TEST(ChatStream, AnErrorIsItsLastEvent) {
  RecordedReply reply;
  const auto writer = chat_writer({.stream = true}, reply);
  writer->begin();
  writer->fail({.status = 500, .message = "a drive failed"});
  EXPECT_THAT(reply.blocks().back(), testing::StartsWith(R"(data: {"error":{"message":"a drive)"));
  EXPECT_FALSE(reply.was_cut);  // A browser might drop the event then.
}

TEST(ChatWriter, AnErrorTakesThePlaceOfAWholeAnswer) {
  RecordedReply reply;
  const auto writer = chat_writer({}, reply);
  writer->begin();
  writer->take(content("Hel"));
  writer->fail({.status = 500, .message = "a drive failed"});
  EXPECT_EQ(reply.response.status, 500);
  EXPECT_EQ(Json::parse(reply.response.body)["error"]["type"], "server_error");
}

}  // namespace
}  // namespace sluice::server
