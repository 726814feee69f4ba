// Without this, clients of the Responses could get streams that break off, or that add up to
// another response than the whole one.
#include "server/responses_writer.h"

#include "server/recorded_reply.h"
#include "server/reply_story.h"
#include "text/test_support.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

const text::Tokenizer& tokenizer() {
  static const text::Tokenizer made = text::make_tokenizer(std::vector<std::string>{"He", "llo"});
  return made;
}

const text::JsonValue kRequest = parse_body(R"({"temperature":0.25,"instructions":"Be brief.",
    "tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}]})");
const Fields kFields(kRequest);
const ResponseTools kTools(kFields);

std::unique_ptr<ReplyWriter> writer(RecordedReply& reply, bool stream, bool encrypted = false) {
  return make_response_writer({.id = "resp_1",
                               .model = "k3",
                               .created = 5,
                               .echo = echo_of(kFields),
                               .stream = stream,
                               .logprobs = true,
                               .encrypted = encrypted},
                              kTools, tokenizer(), reply);
}

Json whole(const ReplyStory& story) {
  RecordedReply reply;
  tell(*writer(reply, false), story);
  EXPECT_TRUE(reply.sent);
  return Json::parse(reply.response.body);
}

std::vector<Json> events_of(const RecordedReply& reply) {
  std::vector<Json> events;
  for (const std::string& block : reply.blocks()) {
    if (block.starts_with(":")) continue;
    const size_t line = block.find("\ndata: ");
    events.push_back(Json::parse(block.substr(line + 7)));
    EXPECT_EQ(block.substr(0, line), "event: " + events.back()["type"].get<std::string>());
    EXPECT_EQ(events.back()["sequence_number"], events.size() - 1);
  }
  return events;
}

std::vector<Json> events(const ReplyStory& story) {
  RecordedReply reply;
  tell(*writer(reply, true), story);
  EXPECT_TRUE(reply.began);
  return events_of(reply);
}

// Adds up the deltas as clients do, and fails where they would.
class Client {
 public:
  Json response;  // The last one.
  Json output = Json::array();

  void take(const Json& event) {
    const std::string type = event["type"];
    if (event.contains("response")) {
      response = event["response"];
    } else if (type == "response.output_item.added") {
      ASSERT_EQ(event["output_index"], output.size());
      output.push_back(event["item"]);
    } else if (type == "response.output_item.done") {
      ASSERT_EQ(event["output_index"], output.size() - 1);
      output.back()["status"] = event["item"]["status"];
      EXPECT_EQ(output.back(), event["item"]);
    } else {
      Json& item = output.back();
      ASSERT_EQ(event["output_index"], output.size() - 1);
      ASSERT_EQ(event["item_id"], item["id"]);
      if (event.contains("content_index")) {
        take_content(type, event, item["content"]);
      } else {
        take_arguments(type, event, item);
      }
    }
  }

 private:
  static void append(Json& text, const Json& more) {
    text = text.get<std::string>() + more.get<std::string>();
  }

  static void take_content(const std::string& type, const Json& event, Json& content) {
    if (type == "response.content_part.added") {
      ASSERT_TRUE(content.empty());
      content.push_back(event["part"]);
    } else if (type == "response.content_part.done") {
      EXPECT_EQ(content[0], event["part"]);
    } else if (type.ends_with(".delta")) {
      append(content[0]["text"], event["delta"]);
      if (!event.contains("logprobs")) return;
      for (const Json& one : event["logprobs"]) content[0]["logprobs"].push_back(one);
    } else {
      EXPECT_EQ(content[0]["text"], event["text"]);
      if (!event.contains("logprobs")) return;
      EXPECT_EQ(content[0]["logprobs"], event["logprobs"]);
    }
  }

  static void take_arguments(const std::string& type, const Json& event, Json& item) {
    if (type.ends_with(".delta")) {
      append(item["arguments"], event["delta"]);
    } else {
      EXPECT_EQ(item["arguments"], event["arguments"]);
    }
  }
};

// Without the ids of items, which are drawn.
Json comparable(Json response) {
  for (Json& item : response["output"]) {
    for (const char* key : {"id", "call_id"}) {
      if (!item.contains(key)) continue;
      const std::string id = item[key];
      item[key] = id.substr(0, id.find('_') + 1);
    }
  }
  return response;
}

ReplyStory with_tokens() {
  const auto token = [](int32_t id, text::Channel channel) {
    return ReplyUpdate{0, TokenSeen{{.token = TokenId{id}, .logprob = -0.5F, .top = {}}, channel}};
  };
  const auto text = [](const char* part) {
    return ReplyUpdate{0, text::ReplyEvent{text::ReplyEvent::Kind::kContent, part}};
  };
  return {"tokens",
          {token(1, text::Channel::kReasoning),
           token(2, text::Channel::kContent),
           text("He"),
           token(3, text::Channel::kContent),
           token(4, text::Channel::kContent),
           text("llo"),
           token(5, text::Channel::kContent),
           {0, ReplyEnded{}}}};
}

TEST(ResponsesWriter, AStreamAddsUpToTheWhole) {
  std::vector<ReplyStory> stories = reply_stories();
  stories.push_back(with_tokens());
  for (const ReplyStory& story : stories) {
    SCOPED_TRACE(story.name);
    Client client;
    const std::vector<Json> told = events(story);
    for (const Json& event : told) client.take(event);
    EXPECT_EQ(told[0]["type"], "response.created");
    EXPECT_EQ(told[1]["type"], "response.in_progress");
    const std::string status = client.response["status"];
    EXPECT_EQ(told.back()["type"], "response." + status);
    EXPECT_EQ(comparable(client.response), comparable(whole(story)));
    // Of a call that was cut off, all but the status has come.
    if (story.name == "cut call") client.output.back()["status"] = "incomplete";
    EXPECT_EQ(client.output, client.response["output"]);
  }
}

TEST(ResponsesWriter, WritesAWholeResponse) {
  const Json response = comparable(whole(reply_story("all parts")));
  const Json output = Json::parse(R"([
      {"id":"rs_","type":"reasoning","status":"completed","summary":[],
       "content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":null},
      {"id":"msg_","type":"message","status":"completed","role":"assistant",
       "content":[{"type":"output_text","text":"Hello","annotations":[],"logprobs":[]}]},
      {"id":"fc_","type":"function_call","status":"completed","call_id":"call_",
       "name":"f","arguments":"{\"a\":\"x\",\"b\":1.50}"},
      {"id":"fc_","type":"function_call","status":"completed","call_id":"call_",
       "name":"g","arguments":"{}"}])");
  EXPECT_EQ(response["output"], output);
  EXPECT_EQ(response["usage"], Json::parse(R"({
      "input_tokens":7,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":0},
      "output_tokens":9,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":16})"));
  EXPECT_EQ(response["temperature"], 0.25);
  EXPECT_EQ(response["top_p"], 1.0);
  EXPECT_EQ(response["instructions"], "Be brief.");
  EXPECT_TRUE(response["error"].is_null() && response["incomplete_details"].is_null());
}

TEST(ResponsesWriter, TellsThatAReplyWasCut) {
  for (const char* name : {"cut text", "cut call"}) {
    const Json response = whole(reply_story(name));
    EXPECT_EQ(response["status"], "incomplete");
    EXPECT_EQ(response["incomplete_details"]["reason"], "max_output_tokens");
    EXPECT_EQ(response["output"][0]["status"], "incomplete");
  }
}

TEST(ResponsesWriter, NoClientIsToldToRunACallThatWasCut) {
  for (const Json& event : events(reply_story("cut call"))) {
    EXPECT_THAT(event["type"], testing::Not(HasSubstr(".done")));
  }
}

TEST(ResponsesWriter, GivesProbabilitiesWithTheTextOfTheirTokens) {
  std::vector<size_t> counts;
  for (const Json& event : events(with_tokens())) {
    if (event["type"] == "response.output_text.delta") counts.push_back(event["logprobs"].size());
  }
  EXPECT_THAT(counts, testing::ElementsAre(1, 2, 1));
}

TEST(ResponsesWriter, CallsToolsOfANamespaceByBothNames) {
  ReplyStory story = reply_story("a call of one JSON text");
  story.updates[1].what = text::ReplyEvent{text::ReplyEvent::Kind::kCallBegun, "n.f"};
  const Json call = whole(story)["output"][0];
  EXPECT_EQ(call["name"], "f");
  EXPECT_EQ(call["namespace"], "n");
}

TEST(ResponsesWriter, KeepsReasoningForClientsThatSendNothingElseBack) {
  RecordedReply reply;
  tell(*writer(reply, false, true), reply_story("all parts"));
  EXPECT_EQ(Json::parse(reply.response.body)["output"][0]["encrypted_content"], "sluice:hm");
}

TEST(ResponsesWriter, KeepsAStreamAliveWithCommentsAndEvents) {
  RecordedReply reply;
  const auto waiting = writer(reply, true);
  waiting->begin();
  for (int i = 0; i < 6; ++i) waiting->keep_alive({});
  EXPECT_THAT(reply.response.body, HasSubstr("\n\n: "));
  EXPECT_EQ(events_of(reply).size(), 3);
  EXPECT_EQ(events_of(reply)[2]["type"], "response.in_progress");
}

TEST(ResponsesWriter, TellsAnError) {
  RecordedReply stream, once;
  const auto streaming = writer(stream, true), waiting = writer(once, false);
  streaming->begin();
  streaming->fail({.status = 500, .message = "a drive failed"});
  const Json failed = events_of(stream).back();
  EXPECT_EQ(failed["type"], "response.failed");
  EXPECT_EQ(failed["response"]["status"], "failed");
  EXPECT_EQ(failed["response"]["error"]["message"], "a drive failed");
  waiting->begin();
  waiting->keep_alive({});
  EXPECT_FALSE(once.sent || once.began);
  waiting->fail({.status = 500, .message = "a drive failed"});
  EXPECT_EQ(once.response.status, 500);
}

}  // namespace
}  // namespace sluice::server
