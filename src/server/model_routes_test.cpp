// Without these tests clients could not find the model, and monitoring not the server.
#include "base/error.h"
#include "server/handler.h"
#include "server/recorded_reply.h"
#include "server/reply_test_model.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

class ModelRoutes : public testing::Test {
 protected:
  HttpResponse get(Handle handle, const std::string& path, const std::string& query = {}) {
    RecordedReply reply;
    handle(context_, {.method = "GET", .path = path, .query = query}, reply);
    EXPECT_TRUE(reply.sent);
    return reply.response;
  }

  TestModel model_;
  Metrics metrics_;
  HandlerContext context_{.model = model_.served, .metrics = metrics_, .live = model_.live};
};

TEST_F(ModelRoutes, ListTheModelForClientsOfBothKinds) {
  const Json list = Json::parse(get(handle_models, "/v1/models").body);
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["has_more"], false);
  ASSERT_EQ(list["data"].size(), 1u);
  const Json& model = list["data"][0];
  EXPECT_EQ(model["id"], "nano");
  EXPECT_EQ(model["object"], "model");
  EXPECT_EQ(model["created"], 1);
  EXPECT_EQ(model["created_at"], "1970-01-01T00:00:01Z");
  EXPECT_EQ(model["max_model_len"], 512);
  EXPECT_EQ(model["meta"]["n_vocab"], model_.tokenizer.vocab_size());
  EXPECT_EQ(model["meta"]["size"], model_.loaded.checkpoint().tensor_bytes());
  EXPECT_EQ(Json::parse(get(handle_model, "/v1/models/nano").body), model);
}

TEST_F(ModelRoutes, CountTheParametersOfTheCard) {
  const Json model = Json::parse(get(handle_model, "/v1/models/nano").body);
  const auto parameters = model["meta"]["n_params"].get<uint64_t>();
  // BF16 takes two bytes of each, MXFP4 17 bytes of 32.
  EXPECT_GT(parameters, model_.loaded.checkpoint().tensor_bytes() / 2);
  EXPECT_LT(parameters, model_.loaded.checkpoint().tensor_bytes() * 32 / 17);
}

TEST_F(ModelRoutes, AModelThatIsNotHereIsNotFound) {
  for (const char* id : {"gpt", "nano2", "nan", "a/b"}) {
    const HttpResponse response = get(handle_model, std::string("/v1/models/") + id);
    EXPECT_EQ(response.status, 404) << id;
    const Json error = Json::parse(response.body)["error"];
    EXPECT_EQ(error["code"], "model_not_found");
    EXPECT_THAT(error["message"].get<std::string>(), AllOf(HasSubstr(id), HasSubstr("nano")));
  }
}

TEST_F(ModelRoutes, TellThatTheServerIsWell) {
  EXPECT_EQ(get(handle_health, "/health").body, R"({"status":"ok"})");
  EXPECT_EQ(get(handle_version, "/version").body, R"({"version":"0.1"})");
}

TEST_F(ModelRoutes, SayWhatThePageOfLlamaCppAsks) {
  const Json props = Json::parse(get(handle_props, "/props").body);
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 512);
  EXPECT_EQ(props["total_slots"], 2);
  EXPECT_EQ(props["modalities"]["vision"], false);
  const Json slots = Json::parse(get(handle_slots, "/slots").body);
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[1]["id"], 1);
  EXPECT_EQ(slots[1]["is_processing"], false);
}

TEST_F(ModelRoutes, MetricsHaveTwoSetsOfNames) {
  const HttpResponse ours = get(handle_metrics, "/metrics");
  EXPECT_THAT(ours.type, StartsWith("text/plain; version=0.0.4"));
  EXPECT_THAT(ours.body, AllOf(HasSubstr("\nsluice_prompt_tokens_total{"),
                               HasSubstr("\nsluice_drive_reads_total{"), Not(HasSubstr("vllm:"))));
  for (const char* query : {"names=vllm", "a&names=vllm&b=c"}) {
    EXPECT_THAT(
        get(handle_metrics, "/metrics", query).body,
        AllOf(HasSubstr("\nvllm:prompt_tokens_total{"), HasSubstr("\nsluice_drive_reads_total{")))
        << query;
  }
  EXPECT_THAT([&] { get(handle_metrics, "/metrics", "names=other"); },
              testing::ThrowsMessage<Error>(StartsWith("names: ")));
}

TEST_F(ModelRoutes, TheLiveViewIsNotKeptByBrowsers) {
  const HttpResponse live = get(handle_live, "/sluice/live");
  EXPECT_EQ(Json::parse(live.body)["model"]["name"], "nano");
  EXPECT_THAT(live.headers, testing::Contains(std::pair("Cache-Control", "no-store")));
}

}  // namespace
}  // namespace sluice::server
