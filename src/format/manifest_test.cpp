// Without these tests a damaged manifest could send reads to the wrong file, or its error leave the
// user without the member to look at.
#include "format/manifest.h"

#include "base/error.h"
#include "base/test_refusal.h"
#include "io/test_files.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::format {
namespace {

using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kSha(64, 'a');
const VolumeId kFast{{1, 2, 3}}, kSlow{{0xff, 0xee}};

Manifest sample() {
  return {.model = {0x00ff00ff00ff00ff},
          .shards = {{"model-1.safetensors", 1000, kSha, "computed while packing"},
                     {"model-2.safetensors", UINT64_MAX, "", ""}},
          .volumes = {{kFast, "fast", "/mnt/a \"b\"\n"}, {kSlow, "slow", ""}},
          .packs = {{"model-1.slpack", kFast, {0}, 5000, 0xfedcba9876543210},
                    {"model-1.slpack", kSlow, {0}, 6000, 1},
                    {"model-2.slpack", kFast, {1}, 7000, 2}},
          .conversion = "--to fast --to slow"};
}

TEST(Ids, AreTextInOneWay) {
  EXPECT_EQ(to_text(ModelId{0xab}), "00000000000000ab");
  EXPECT_EQ(to_text(kFast), "01020300000000000000000000000000");
  EXPECT_EQ(parse_model_id("00000000000000ab"), ModelId{0xab});
  EXPECT_EQ(parse_volume_id(to_text(kSlow)), kSlow);
  for (const char* text : {"", "ab", "00000000000000AB", "0x000000000000ab", "000000000000000ab"}) {
    EXPECT_EQ(parse_model_id(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_volume_id(to_text(kSlow) + "0"), std::nullopt);
  EXPECT_EQ(parse_volume_id("ffee000000000000000000000000000g"), std::nullopt);
  EXPECT_NE(new_volume_id(), new_volume_id());
}

TEST(Manifest, ComesBackAsItWas) {
  EXPECT_EQ(parse_manifest(encode_manifest(sample()), "m.json"), sample());
  const Manifest empty{.model = {1}, .shards = {}, .volumes = {}, .packs = {}, .conversion = ""};
  EXPECT_EQ(parse_manifest(encode_manifest(empty), "m.json"), empty);
  const VolumeFile volume{.id = kSlow, .model = {3}, .label = "slow"};
  EXPECT_EQ(parse_volume_file(encode_volume_file(volume), "v.json"), volume);
}

TEST(Manifest, IsReplacedInItsFolder) {
  const io::TestFolder folder;
  EXPECT_EQ(read_manifest(folder.path()), std::nullopt);
  EXPECT_EQ(read_volume_file(folder.path()), std::nullopt);
  Manifest manifest = sample();
  write_manifest(folder.path(), manifest);
  manifest.packs.pop_back();
  write_manifest(folder.path(), manifest);
  EXPECT_EQ(read_manifest(folder.path()), manifest);
  const VolumeFile volume{.id = kFast, .model = {3}, .label = "fast"};
  write_volume_file(folder.path(), volume);
  EXPECT_EQ(read_volume_file(folder.path()), volume);
  std::filesystem::resize_file(folder.path() / kVolumeFileName, 20);
  EXPECT_THAT(refusal([&] { (void)read_volume_file(folder.path()); }),
              AllOf(HasSubstr((folder.path() / kVolumeFileName).string()),
                    HasSubstr("restore the file from a copy")));
}

TEST(Manifest, AFolderThatIsNoUtf8IsAHintAllTheSame) {
  Manifest manifest = sample();
  manifest.volumes[0].folder = "/mnt/\xff";
  EXPECT_EQ(parse_manifest(encode_manifest(manifest), "m.json").volumes[0].folder,
            "/mnt/\xef\xbf\xbd");
}

TEST(Manifest, WhatIsOptionalMayBeUnknown) {
  ordered_json json = ordered_json::parse(encode_manifest(sample()));
  for (ordered_json* at : {&json, &json["shards"][0], &json["volumes"][1], &json["packs"][2]}) {
    (*at)["optional"] = {{"later", {1, 2}}};
  }
  EXPECT_EQ(parse_manifest(json.dump(), "m.json"), sample());
}

TEST(Manifest, ErrorsNameTheMember) {
  struct Case {
    std::function<void(ordered_json&)> change;
    std::string named;
  };
  using Json = ordered_json;
  const std::vector<Case> cases = {
      {[](Json& j) { j = Json::array(); }, "the whole is not an object"},
      {[](Json& j) { j["sluice_manifest"] = 2; }, "sluice_manifest is 2"},
      {[](Json& j) { j.erase("sluice_manifest"); }, "sluice_manifest is missing"},
      {[](Json& j) { j["required_features"] = 1; }, "required_features asks for 0x1"},
      {[](Json& j) { j["model"] = "12"; }, "model is not 16"},
      {[](Json& j) { j["model"] = 12; }, "model is not text"},
      {[](Json& j) { j["other"] = 1; }, "other is not known"},
      {[](Json& j) { j["shards"] = 1; }, "shards is not a list"},
      {[](Json& j) { j["shards"][1] = 1; }, "shards[1] is not an object"},
      {[](Json& j) { j["shards"][1].erase("bytes"); }, "shards[1].bytes is missing"},
      {[](Json& j) { j["shards"][1]["bytes"] = -1; }, "shards[1].bytes is not a whole number"},
      {[](Json& j) { j["shards"][1]["bytes"] = "1"; }, "shards[1].bytes is not a number"},
      {[](Json& j) { j["shards"][0]["name"] = "../x"; }, "shards[0].name '../x'"},
      {[](Json& j) { j["shards"][0]["name"] = ""; }, "shards[0].name"},
      {[](Json& j) { j["shards"][1]["name"] = "model-1.safetensors"; }, "shards[1].name stands"},
      {[](Json& j) { j["shards"][0]["sha256"] = "A"; }, "shards[0].sha256 is not"},
      {[](Json& j) { j["shards"][0].erase("sha256_origin"); }, "shards[0].sha256_origin"},
      {[](Json& j) { j["volumes"][0]["id"] = "12"; }, "volumes[0].id is not 32"},
      {[](Json& j) { j["volumes"][1]["id"] = to_text(kFast); }, "volumes[1].id stands there twice"},
      {[](Json& j) { j["volumes"][1]["label"] = "fast"; }, "volumes[1].label stands there twice"},
      {[](Json& j) { j["volumes"][1]["label"] = "a b"; }, "volumes[1].label 'a b'"},
      {[](Json& j) { j["volumes"][1]["more"] = 1; }, "volumes[1].more is not known"},
      {[](Json& j) { j["packs"][0]["file"] = "a/b"; }, "packs[0].file is not a plain"},
      {[](Json& j) { j["packs"][0]["volume"] = std::string(32, '0'); }, "packs[0].volume is not"},
      {[](Json& j) { j["packs"][0]["shard"] = 2; }, "packs[0].shard is not below"},
      {[](Json& j) { j["packs"][0]["shard"] = 65'536; }, "packs[0].shard is not a whole"},
      {[](Json& j) { j["packs"][2]["file"] = "model-1.slpack"; }, "packs[2].file stands"},
      {[](Json& j) { j["packs"][2]["shard"] = 0; }, "packs[2].shard has another pack"},
      {[](Json& j) { j["packs"][2]["index_checksum"] = 7; }, "packs[2].index_checksum is not text"},
  };
  for (const Case& c : cases) {
    Json json = Json::parse(encode_manifest(sample()));
    c.change(json);
    EXPECT_THAT(refusal([&] { (void)parse_manifest(json.dump(), "m.json"); }),
                AllOf(HasSubstr("m.json: "), HasSubstr(c.named), HasSubstr("; ")));
  }
}

TEST(Manifest, AMemberThatStandsThereTwiceIsRefused) {
  std::string json = encode_manifest(sample());
  json.insert(json.find("\"label\""), "\"label\": \"x\", ");
  EXPECT_THAT(refusal([&] { (void)parse_manifest(json, "m.json"); }),
              HasSubstr("volumes[0].label stands there twice (duplicate key)"));
}

TEST(VolumeFile, ErrorsNameTheMember) {
  const std::string good = encode_volume_file({.id = kFast, .model = {3}, .label = "fast"});
  for (const auto& [member, value] :
       std::vector<std::pair<std::string, ordered_json>>{{"sluice_volume", 2},
                                                         {"required_features", 8},
                                                         {"id", "x"},
                                                         {"model", ""},
                                                         {"label", ""},
                                                         {"label", "a=b"},
                                                         {"label", std::string(65, 'a')},
                                                         {"more", 1}}) {
    ordered_json json = ordered_json::parse(good);
    json[member] = value;
    EXPECT_THAT(refusal([&] { (void)parse_volume_file(json.dump(), "v.json"); }),
                HasSubstr("v.json: " + member + " "));
  }
}

}  // namespace
}  // namespace sluice::format
