// Without these tests the page and the metrics could show other figures than the program has.
#include "server/live_view.h"

#include "server/live_figures.h"
#include "server/reply_test_model.h"
#include "text/json_value.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

void generate(TestModel& model, uint32_t tokens) {
  std::vector<engine::EngineRequest> requests;
  requests.push_back(
      {.generate = {.prompt = model.tokenizer.encode("Once upon a time"), .max_new = tokens}});
  auto ticket = model.engine.submit(std::move(requests));
  while (model.engine.status().ended_by_length == 0) (void)ticket->next(std::chrono::seconds(60));
}

/// What `look` returns when nothing is being read meanwhile.
template <class Look>
std::string look_at_rest(TestModel& model, Look look) {
  while (true) {
    const uint64_t before = model.loaded.streamer().counters().device_bytes_read;
    std::string seen = look();
    if (model.loaded.streamer().counters().device_bytes_read == before) return seen;
  }
}

template <class Value>
Value sum(const Json& list, const char* key) {
  Value total{};
  for (const Json& item : list) total += item[key].get<Value>();
  return total;
}

TEST(LiveView, AddsUpToTheCounters) {
  TestModel model;
  generate(model, 4);
  const Json live = Json::parse(look_at_rest(model, [&] { return model.live.json(model.served); }));
  const stream::StreamerCounters counters = model.loaded.streamer().counters();
  EXPECT_GT(counters.expert_misses, 0u);
  EXPECT_EQ(sum<uint64_t>(live["drives"], "bytes"), counters.device_bytes_read);
  EXPECT_EQ(sum<uint64_t>(live["layers"], "hits"), counters.expert_hits);
  EXPECT_EQ(sum<uint64_t>(live["layers"], "misses"), counters.expert_misses);
  EXPECT_EQ(live["cache"]["hits"], counters.expert_hits);
  EXPECT_LE(1e9 * sum<double>(live["layers"], "wait_seconds"),
            1.001 * static_cast<double>(counters.waiting_ns));
  EXPECT_GT(sum<uint64_t>(live["drives"], "last_at_barrier"), 0u);
  EXPECT_EQ(live["drives"].size(), model.loaded.drives().drive_count());
  EXPECT_GT(live["drives"][0]["p99_ms"], 0);
  EXPECT_GT(live["drives"][0]["bytes_per_second"], 0);
  EXPECT_EQ(live["tokens"]["generated"], 4);
  EXPECT_EQ(live["requests"]["finished"], 1);
  EXPECT_EQ(sum<uint64_t>(live["memory"], "bytes"), model.loaded.plan().total_bytes);
  EXPECT_EQ(live["budget_bytes"], model.loaded.options().memory_bytes);
}

TEST(LiveView, NamesTheLayersThatHaveExperts) {
  TestModel model;
  const Json live = Json::parse(model.live.json(model.served));
  const model::ModelShape& shape = model.loaded.shape();
  ASSERT_EQ(live["layers"].size(), shape.layers - shape.dense_layers);
  EXPECT_EQ(live["layers"][0]["layer"], shape.dense_layers);
  EXPECT_EQ(live["layers"].back()["layer"], shape.layers - 1);
  EXPECT_TRUE(live["layers"][0]["last_drive"].is_null());
}

TEST(LiveView, TheHeatMapHasABitForEachExpert) {
  TestModel model;
  const model::ModelShape& shape = model.loaded.shape();
  const size_t experts = size_t{shape.layers - shape.dense_layers} * shape.experts;
  LiveFigures figures{.held = std::vector<bool>(experts)};
  for (const size_t i : {0u, 9u, 23u}) figures.held[i] = true;
  const Json cache = Json::parse(live_json(model.served, figures))["cache"];
  EXPECT_EQ(cache["slots_used"], 3);
  EXPECT_EQ(cache["heat"]["layers"], shape.layers - shape.dense_layers);
  EXPECT_EQ(cache["heat"]["experts"], shape.experts);
  const auto bitmap = cache["heat"]["resident"].get<std::string>();
  EXPECT_EQ(bitmap.substr(0, 4), "AQKA");  // 0x01 0x02 0x80
  EXPECT_EQ(bitmap.size(), (experts + 23) / 24 * 4);
}

TEST(LiveView, MetricsSayTheSameAsTheCounters) {
  TestModel model;
  generate(model, 4);
  const std::string text = look_at_rest(model, [&] { return model.live.metrics(model.served); });
  const stream::StreamerCounters counters = model.loaded.streamer().counters();
  const std::string labels = R"({model_name="nano",engine="0")";
  const auto says = [&](const std::string& name, const std::string& rest, uint64_t value) {
    EXPECT_THAT(text, HasSubstr("\n" + name + labels + rest + "} " + std::to_string(value) + "\n"));
  };
  says("sluice_expert_cache_misses_total", "", counters.expert_misses);
  says("sluice_hint_used_bytes_total", "", counters.hint_bytes_used);
  says("sluice_checksum_failures_total", "", 0);
  const stream::DriveCounters drive = model.loaded.streamer().drive_counters().at(0);
  const std::string of_drive = ",drive=\"0\",folder=\"" + model.loaded.drive_names().at(0) + "\"";
  says("sluice_drive_read_bytes_total", of_drive + ",for=\"expert\"", drive.bytes.at(1));
  says("sluice_drive_reads_total", of_drive + ",outcome=\"good\"", drive.outcomes.at(0));
  says("sluice_drive_read_latency_seconds_count", of_drive, drive.outcomes.at(0));
  says("sluice_memory_budget_bytes", "", model.loaded.options().memory_bytes);
}

TEST(LiveView, TellsAlsoWhoWasToldBefore) {
  model::LoadOptions options;
  int told = 0;
  options.reading.on_event = [&](const stream::StreamerEvent&) { ++told; };
  LiveView live;
  live.attach(options);
  options.reading.on_event(stream::WaitRecord{});
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace sluice::server
