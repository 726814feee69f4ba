// Without these tests a damaged plan could move pieces to the wrong volume, or an undo bring them
// back to another place than they came from.
#include "format/placement_file.h"

#include "base/error.h"
#include "base/test_refusal.h"
#include "io/test_files.h"

#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::format {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const VolumeId kFast{{1, 2, 3}}, kSlow{{0xff, 0xee}};

PlacementFile sample() {
  return {.model = {0x00ff00ff00ff00ff},
          .state = PlacementState::kApplying,
          .request = "--to slow=/mnt/slow",
          .volumes = {{kFast, "fast", "/mnt/fast", 0, 3'000'000'000},
                      {kSlow, "slow", "/mnt/\"slow\"\n", 1, 500'000'000}},
          .before = {.holders = {{1, 1, 1, 0, 1}, {}, {1}}, .bytes_per_second = 3, .survives = 0},
          .after = {.holders = {{1, 2, 3, 1, 2}, {}, {3}}, .bytes_per_second = 4, .survives = 1}};
}

TEST(PlacementFile, ComesBackAsItWas) {
  EXPECT_EQ(parse_placement_file(encode_placement_file(sample()), "p.json"), sample());
  for (const PlacementState state : {PlacementState::kPlanned, PlacementState::kApplying,
                                     PlacementState::kApplied, PlacementState::kUndoing}) {
    PlacementFile placement = sample();
    placement.state = state;
    EXPECT_EQ(parse_placement_file(encode_placement_file(placement), "p.json").state, state);
  }
}

TEST(PlacementFile, AsManyVolumesAndPiecesAsThereCanBe) {
  PlacementFile placement = sample();
  std::mt19937 random(1);
  while (placement.volumes.size() < kPlacedVolumesMax) {
    const auto number = static_cast<uint8_t>(placement.volumes.size());
    placement.volumes.push_back({VolumeId{{number, 7}}, fmt::format("v{}", number), "", number, 1});
  }
  for (PlacedLayout* layout : {&placement.before, &placement.after}) {
    layout->holders.assign(3, std::vector<VolumeSet>(1001));
    for (std::vector<VolumeSet>& shard : layout->holders) {
      for (VolumeSet& holders : shard) holders = static_cast<VolumeSet>(random()) | 1;
    }
  }
  EXPECT_EQ(parse_placement_file(encode_placement_file(placement), "p.json"), placement);
}

TEST(PlacementFile, IsReplacedInItsFolder) {
  const io::TestFolder folder;
  EXPECT_EQ(read_placement_file(folder.path()), std::nullopt);
  PlacementFile placement = sample();
  write_placement_file(folder.path(), placement);
  placement.state = PlacementState::kApplied;
  write_placement_file(folder.path(), placement);
  EXPECT_EQ(read_placement_file(folder.path()), placement);
  std::filesystem::resize_file(folder.path() / kPlacementFileName, 20);
  EXPECT_THAT(refusal([&] { (void)read_placement_file(folder.path()); }),
              AllOf(HasSubstr((folder.path() / kPlacementFileName).string()),
                    HasSubstr("sluice place plan")));
}

TEST(PlacementFile, ErrorsNameTheMember) {
  struct Case {
    std::function<void(Json&)> change;
    std::string named;
  };
  const auto held = [](Json& j) -> Json& { return j["after"]["shards"][0]["held"][1]; };
  const std::vector<Case> cases = {
      {[](Json& j) { j = Json::array(); }, "the whole is not an object"},
      {[](Json& j) { j["sluice_placement"] = 2; }, "sluice_placement is 2"},
      {[](Json& j) { j["required_features"] = 1; }, "required_features asks for 0x1"},
      {[](Json& j) { j["model"] = "12"; }, "model is not 16"},
      {[](Json& j) { j["state"] = "asleep"; }, "state 'asleep' is not known"},
      {[](Json& j) { j.erase("request"); }, "request is missing"},
      {[](Json& j) { j["more"] = 1; }, "more is not known"},
      {[](Json& j) { j["volumes"][1]["id"] = to_text(kFast); }, "volumes[1].id stands there twice"},
      {[](Json& j) { j["volumes"][1]["label"] = "fast"; }, "volumes[1].label stands there twice"},
      {[](Json& j) { j["volumes"][1]["label"] = "a b"; }, "volumes[1].label cannot be"},
      {[](Json& j) { j["volumes"][1]["drive"] = 32; }, "volumes[1].drive is not a whole number"},
      {[](Json& j) { j["before"]["shards"].erase(2); }, "different numbers of shards"},
      {[](Json& j) { j["before"]["shards"][2]["pieces"] = 2; }, "shards[2] has other pieces"},
      {[](Json& j) { j["before"]["shards"][0]["pieces"] = 1u << 30; }, "shards[0].pieces is not"},
      {[&](Json& j) { held(j) = "1"; }, "after.shards[0].held[1] has another number of digits"},
      {[&](Json& j) { held(j) = "0G"; }, "after.shards[0].held[1] is not of lower-case"},
      {[&](Json& j) { held(j) = "02"; }, "after.shards[0].held[1] names a piece"},
      {[&](Json& j) { held(j) = ""; }, "shards[0] has a piece that nobody"},
      {[](Json& j) { j["after"]["shards"][0]["held"].push_back("01"); }, "not one of volumes"},
  };
  for (const Case& c : cases) {
    Json json = Json::parse(encode_placement_file(sample()));
    c.change(json);
    EXPECT_THAT(refusal([&] { (void)parse_placement_file(json.dump(), "p.json"); }),
                AllOf(HasSubstr("p.json: "), HasSubstr(c.named), HasSubstr("; ")));
  }
}

}  // namespace
}  // namespace sluice::format
