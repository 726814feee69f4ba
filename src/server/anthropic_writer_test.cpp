// Without this, clients of Anthropic's interface could get streams that break off, or that add up
// to another message than the whole one.
#include "server/anthropic_writer.h"

#include "server/recorded_reply.h"
#include "server/reply_story.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using Json = nlohmann::ordered_json;

std::string answer(const ReplyStory& story, bool stream) {
  RecordedReply reply;
  tell(*make_message_writer({.id = "msg_1", .model = "k3", .prompt = 7, .stream = stream}, reply),
       story);
  EXPECT_EQ(stream, reply.began);
  EXPECT_NE(stream, reply.sent);
  return reply.response.body;
}

Json whole(const std::string& name) { return Json::parse(answer(reply_story(name), false)); }

std::vector<Json> events_of(const RecordedReply& reply) {
  std::vector<Json> events;
  for (const std::string& block : reply.blocks()) {
    const size_t line = block.find("\ndata: ");
    events.push_back(Json::parse(block.substr(line + 7)));
    EXPECT_EQ(block.substr(0, line), "event: " + events.back()["type"].get<std::string>());
  }
  return events;
}

std::vector<Json> events(const ReplyStory& story) {
  RecordedReply reply;
  reply.response.body = answer(story, true);
  return events_of(reply);
}

// Adds up events as clients do, and fails where they would.
class Client {
 public:
  Json message;

  void take(const Json& event) {
    const std::string type = event["type"];
    if (type == "message_start") {
      message = event["message"];
    } else if (type == "content_block_start") {
      ASSERT_FALSE(is_open_);
      is_open_ = true;
      input_.clear();
      ASSERT_EQ(event["index"], message["content"].size());
      message["content"].push_back(event["content_block"]);
    } else if (type == "content_block_delta") {
      ASSERT_TRUE(is_open_);
      ASSERT_EQ(event["index"], message["content"].size() - 1);
      add(event["delta"], message["content"].back());
    } else if (type == "content_block_stop") {
      ASSERT_TRUE(is_open_);
      is_open_ = false;
      Json& block = message["content"].back();
      if (block["type"] == "tool_use") block["input"] = Json::parse(input_);
    } else if (type == "message_delta") {
      ASSERT_FALSE(is_open_);
      message.update(event["delta"]);
      message["usage"].update(event["usage"]);
    } else {
      ASSERT_THAT(type, testing::AnyOf("ping", "message_stop"));
    }
  }

 private:
  void add(const Json& delta, Json& block) {
    const std::string type = delta["type"];
    if (type == "input_json_delta") {
      input_ += delta["partial_json"];
    } else if (type == "signature_delta") {
      block["signature"] = delta["signature"];
    } else {
      const std::string key = type.substr(0, type.find('_'));
      ASSERT_NE(delta[key], "");
      block[key] = block[key].get<std::string>() + delta[key].get<std::string>();
    }
  }

  bool is_open_ = false;
  std::string input_;
};

// Without the ids of calls, which are drawn.
Json comparable(Json message) {
  for (Json& block : message["content"]) {
    if (block.contains("id")) block["id"] = block["id"].get<std::string>().substr(0, 6);
  }
  return message;
}

TEST(AnthropicWriter, AStreamAddsUpToTheWhole) {
  for (const ReplyStory& story : reply_stories()) {
    SCOPED_TRACE(story.name);
    Client client;
    for (const Json& event : events(story)) client.take(event);
    EXPECT_EQ(comparable(client.message), comparable(whole(story.name)));
  }
}

TEST(AnthropicWriter, WritesAWholeMessage) {
  EXPECT_EQ(comparable(whole("all parts")), Json::parse(R"({
      "id":"msg_1","type":"message","role":"assistant","model":"k3",
      "content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Hello"},
                 {"type":"tool_use","id":"toolu_","name":"f","input":{"a":"x","b":1.5}},
                 {"type":"tool_use","id":"toolu_","name":"g","input":{}}],
      "stop_reason":"tool_use","stop_sequence":null,
      "usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,
               "output_tokens":9,"output_tokens_details":{"thinking_tokens":2}}})"));
}

TEST(AnthropicWriter, KeepsTheDigitsOfNumbers) {
  EXPECT_THAT(answer(reply_story("all parts"), false), testing::HasSubstr(R"("b":1.50})"));
}

TEST(AnthropicWriter, SendsArgumentsAsTheyCome) {
  std::vector<std::string> parts;
  for (const Json& event : events(reply_story("all parts"))) {
    if (event.contains("delta") && event["delta"].contains("partial_json")) {
      parts.push_back(event["delta"]["partial_json"]);
    }
  }
  EXPECT_THAT(parts, testing::ElementsAre(R"({"a":")", "x", "\"", R"(,"b":1.50})", "{}"));
}

TEST(AnthropicWriter, TellsWhyAReplyEnded) {
  const auto reasons = [](const std::string& name) {
    const Json message = whole(name);
    return message["stop_reason"].dump() + " " + message["stop_sequence"].dump();
  };
  EXPECT_EQ(reasons("nothing"), R"("end_turn" null)");
  EXPECT_EQ(reasons("cut text"), R"("max_tokens" null)");
  EXPECT_EQ(reasons("cut call"), R"("max_tokens" null)");
  EXPECT_EQ(reasons("stop string"), R"("stop_sequence" "llo")");
}

TEST(AnthropicWriter, ArgumentsAreAnObjectWhateverTheModelWrote) {
  const auto input = [](const std::string& name) {
    return whole(name)["content"][0]["input"].dump();
  };
  EXPECT_EQ(input("a call of one JSON text"), R"({"a":[1,2]})");
  EXPECT_EQ(input("a call without JSON"), R"({"_raw":"{\"a\": oh"})");
  EXPECT_EQ(input("a call of no object"), R"({"_raw":"[1]"})");
}

TEST(AnthropicWriter, PingsAndTellsAnErrorInAStream) {
  RecordedReply stream, once;
  const auto writer = make_message_writer({.id = "msg_1", .stream = true}, stream);
  writer->begin();
  writer->keep_alive({});
  writer->fail({.status = 500, .message = "a drive failed"});
  const std::vector<Json> told = events_of(stream);
  ASSERT_EQ(told.size(), 4);
  EXPECT_EQ(told[0]["type"], "message_start");
  EXPECT_EQ(told[2]["type"], "ping");
  EXPECT_EQ(told[3], Json::parse(R"({"type":"error",
      "error":{"type":"api_error","message":"a drive failed"}})"));

  const auto waiting = make_message_writer({.id = "msg_1"}, once);
  waiting->begin();
  waiting->keep_alive({});
  EXPECT_FALSE(once.sent || once.began);
  waiting->fail({.status = 500, .message = "a drive failed"});
  EXPECT_EQ(once.response.status, 500);
  EXPECT_EQ(Json::parse(once.response.body), told[3]);
}

}  // namespace
}  // namespace sluice::server
