// Whoever has no room for the real model works with these: a name, shape or dtype that is not the
// release's would make every test on them worthless.
#include "format/synthetic_checkpoint.h"

#include "base/error.h"
#include "format/checkpoint.h"
#include "format/synthetic_tensors.h"
#include "format/weight_index.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SyntheticTest : public testing::Test {
 protected:
  ~SyntheticTest() override { fs::remove_all(folder_); }

  [[nodiscard]] static std::map<std::string, std::string> contents(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
  }

  static Error error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return {ErrorCode::kCancelled, "none"};
  }

  const fs::path folder_ =
      fs::path(SLUICE_BINARY_DIR) / ("synthetic-test-" + std::to_string(::getpid()));
};

constexpr const char* kLayer = "language_model.model.layers.";

TEST_F(SyntheticTest, TinyHasTheReleasedLayout) {
  uint64_t last = 0, total = 0;
  const SyntheticShape shape = SyntheticShape::tiny();
  write_synthetic_checkpoint(folder_, shape,
                             {.seed = 3, .progress = [&](uint64_t done, uint64_t all) {
                                EXPECT_GT(done, last);
                                last = done;
                                total = all;
                              }});
  EXPECT_EQ(last, total);
  const Checkpoint checkpoint(folder_);
  EXPECT_EQ(checkpoint.tensor_bytes(), total);
  EXPECT_EQ(total, synthetic_bytes(shape));
  ASSERT_EQ(checkpoint.files().size(), 16u);
  EXPECT_EQ(checkpoint.files()[0].path.filename(), "model-00001-of-000016.safetensors");
  const auto in_layer = [&](uint32_t layer, std::string_view name) {
    return fmt::format("{}{}.{}", kLayer, layer, name);
  };
  EXPECT_EQ(checkpoint.find(in_layer(12, "input_layernorm.weight"))->shard.value, 12);
  EXPECT_NE(checkpoint.find(in_layer(0, "mlp.gate_proj.weight")), nullptr);
  EXPECT_NE(checkpoint.find(in_layer(11, "self_attn.q_a_proj.weight")), nullptr);
  EXPECT_NE(checkpoint.find(in_layer(12, "self_attn.q_a_proj.weight")), nullptr);
  checkpoint.require(in_layer(1, "self_attn.q_conv1d.weight"), DType::kF32, {96, 1, 4});

  // One expert is one contiguous read, in the order of its names.
  uint64_t at = 0;
  for (const char* part : {"w1", "w2", "w3"}) {
    for (const char* kind : {"weight_packed", "weight_scale"}) {
      const TensorInfo* tensor = checkpoint.find(
          in_layer(5, fmt::format("block_sparse_moe.experts.17.{}.{}", part, kind)));
      ASSERT_NE(tensor, nullptr);
      EXPECT_TRUE(at == 0 || tensor->offset == at);
      at = tensor->offset + tensor->bytes;
    }
  }

  // A_log has as many entries as a head has columns; those past the heads are zero.
  const std::vector<float> rates =
      checkpoint.read_floats(checkpoint.require(in_layer(2, "self_attn.A_log"), DType::kF32, {16}));
  for (size_t i = 0; i < rates.size(); ++i) EXPECT_EQ(rates[i] == 0, i >= shape.kda_heads) << i;
  for (const float bias :
       checkpoint.read_floats(*checkpoint.find(in_layer(2, "self_attn.dt_bias")))) {
    EXPECT_GE(bias, -6);
    EXPECT_LE(bias, 0);
  }
  const std::string scales = contents(folder_).at("model-00006-of-000016.safetensors");
  const TensorInfo* scale =
      checkpoint.find(in_layer(5, "block_sparse_moe.experts.17.w2.weight_scale"));
  for (const char c : std::string_view(scales).substr(scale->offset, scale->bytes)) {
    // Around one over 2.93 times the root of 96, a power of two: none is zero, none is NaN (255).
    EXPECT_GE(c, 127 - 6);
    EXPECT_LE(c, 127 - 4);
  }
  double sum = 0, squares = 0;
  const std::vector<float> embedding =
      checkpoint.read_floats(*checkpoint.find("language_model.model.embed_tokens.weight"));
  for (const float value : embedding) {
    sum += value;
    squares += double{value} * value;
  }
  const auto count = static_cast<double>(embedding.size());
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
}

TEST_F(SyntheticTest, BytesDependOnShapeAndSeedAlone) {
  SyntheticShape shape = SyntheticShape::tiny();
  shape.set_layers(2);
  shape.set_experts(3);
  EXPECT_EQ(shape.top_k, 3u);
  EXPECT_THAT(shape.mla_layers, testing::ElementsAre(2));
  write_synthetic_checkpoint(folder_, shape, {.seed = 1});
  const auto first = contents(folder_);
  write_synthetic_checkpoint(folder_, shape, {.seed = 1, .overwrite = true});
  EXPECT_EQ(contents(folder_), first);
  write_synthetic_checkpoint(folder_, shape, {.seed = 2, .overwrite = true});
  EXPECT_NE(contents(folder_), first);
  // The same on every platform: values of one tensor of each kind.
  write_synthetic_checkpoint(folder_, shape, {.seed = 1, .overwrite = true});
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : first.at("model-00002-of-000005.safetensors")) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  EXPECT_EQ(hash, 10189492215332958547u);
}

TEST_F(SyntheticTest, OnlySyntheticCheckpointsAreReplaced) {
  SyntheticShape shape = SyntheticShape::tiny();
  shape.set_layers(1);
  fs::create_directories(folder_);
  std::ofstream(folder_ / "precious.safetensors") << "x";
  const auto write = [&](bool overwrite) {
    write_synthetic_checkpoint(folder_, shape, {.overwrite = overwrite});
  };
  for (const bool overwrite : {false, true}) {
    const Error refused = error_of([&] { write(overwrite); });
    EXPECT_EQ(refused.code(), ErrorCode::kInvalidInput);
    EXPECT_THAT(refused.what(), HasSubstr(folder_.string()));
  }
  fs::remove(folder_ / "precious.safetensors");
  write(false);
  EXPECT_EQ(error_of([&] { write(false); }).code(), ErrorCode::kInvalidInput);
  std::ofstream(folder_ / "notes.txt") << "mine";
  std::ofstream(folder_ / "model-00009-of-000009.safetensors") << "of a deeper one";
  write(true);
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
  EXPECT_FALSE(fs::exists(folder_ / "model-00009-of-000009.safetensors"));
}

TEST_F(SyntheticTest, NoRoomIsSaidBeforeWriting) {
  SyntheticShape shape = SyntheticShape::tiny();
  shape.set_layers(1);
  shape.vocab = 1u << 24;  // Seventy terabytes.
  shape.hidden = 1u << 20;
  const Error refused = error_of([&] { write_synthetic_checkpoint(folder_, shape, {}); });
  EXPECT_EQ(refused.code(), ErrorCode::kIo);
  EXPECT_THAT(refused.what(), HasSubstr("room"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SyntheticTest, ShapeFromJson) {
  const SyntheticShape shape =
      SyntheticShape::from_json(R"({"layers": 5, "experts": 7, "top_k": 2})", "shape.json");
  EXPECT_EQ(shape.layers, 5u);
  EXPECT_EQ(shape.top_k, 2u);
  EXPECT_EQ(shape.hidden, SyntheticShape::tiny().hidden);
  EXPECT_THAT(shape.mla_layers, testing::ElementsAre(4, 5));
  const std::pair<const char*, const char*> wrong[] = {{"[]", "shape.json"},
                                                       {"{", "shape.json"},
                                                       {R"({"layer": 5})", "layer"},
                                                       {R"({"layers": -1})", "layers"},
                                                       {R"({"layers": 0})", "layers"},
                                                       {R"({"layers": 4000})", "layers"},
                                                       {R"({"latent": 40})", "latent"},
                                                       {R"({"top_k": 33})", "top_k"},
                                                       {R"({"vocab": 300})", "vocab"},
                                                       {R"({"mla_heads": 16777216})", "mla_heads"},
                                                       {R"({"conv_width": 1})", "conv_width"},
                                                       {R"({"mla_layers": 4})", "mla_layers"},
                                                       {R"({"mla_layers": [4, 4]})", "mla_layers"},
                                                       {R"({"mla_layers": [14]})", "mla_layers"}};
  for (const auto& [json, says] : wrong) {
    const Error refused = error_of([&] { (void)SyntheticShape::from_json(json, "shape.json"); });
    EXPECT_EQ(refused.code(), ErrorCode::kInvalidInput) << json;
    EXPECT_THAT(refused.what(), HasSubstr(says));
  }
}

TEST_F(SyntheticTest, RealShapesOpenFromHeadersAlone) {
  SyntheticShape shape = SyntheticShape::k3();
  shape.set_layers(5);
  shape.set_experts(24);
  write_synthetic_checkpoint(folder_, shape, {.headers_only = true});
  const Checkpoint checkpoint(folder_);
  EXPECT_EQ(checkpoint.tensor_bytes(), synthetic_bytes(shape));
  checkpoint.require("language_model.model.layers.4.block_sparse_moe.experts.23.w2.weight_packed",
                     DType::kU8, {3584, 1536});
}

// From the published index: bytes of all tensors, with the whole vision part and without.
TEST_F(SyntheticTest, K3HasTheReleasedBytes) {
  constexpr uint64_t kReleased = 1'560'860'324'864, kVision = 92'289'024 + 802'428'928;
  SyntheticShape shape = SyntheticShape::k3();
  EXPECT_EQ(synthetic_bytes(shape), kReleased - kVision + 7168 * 2 + 32 * 2);
  shape.vision_blocks = 27;
  EXPECT_EQ(synthetic_bytes(shape), kReleased);
  shape.set_layers(2);
  shape.set_experts(2);
  // Layer 0, the rest of layer 1 (MLA, being the last), two experts with their rows of the router
  // and its bias instead of 896, the shard without a layer, and vision.
  constexpr uint64_t kExpert = 17'547'264, kRouterRow = 7168 * 2 + 4;
  EXPECT_EQ(synthetic_bytes(shape),
            2'341'213'184 + 844'335'616 - 894 * kRouterRow + 2 * kExpert + 4'697'663'488 + kVision);
}

TEST_F(SyntheticTest, K3HasTheReleasedNamesInTheReleasedShards) {
  const char* set = std::getenv("SLUICE_K3_DATA");
  const fs::path index = fs::path(set != nullptr ? set : SLUICE_SOURCE_DIR "/../shared/data") /
                         "model.safetensors.index.json.gz";
  if (!fs::exists(index)) {
    GTEST_SKIP() << index << " is not here; set SLUICE_K3_DATA to the folder that holds it";
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      ::popen(("gzip -dc '" + index.string() + "'").c_str(), "r"), &::pclose);
  std::string json(70'000'000, '\0');
  json.resize(std::fread(json.data(), 1, json.size(), pipe.get()));
  std::map<std::string, std::string, std::less<>> released;
  EXPECT_EQ(parse_index(json, index.string(),
                        [&](std::string_view tensor, std::string_view shard) {
                          released.emplace(tensor, shard);
                        }),
            1'560'860'324'864u);
  SyntheticShape shape = SyntheticShape::k3();
  shape.vision_blocks = 27;
  size_t found = 0;
  for (uint32_t i = 0; i < synthetic_shard_count(shape); ++i) {
    for (const SyntheticTensor& tensor : synthetic_shard(shape, i)) {
      const auto at = released.find(tensor.tensor.name);
      ASSERT_NE(at, released.end()) << tensor.tensor.name;
      ASSERT_EQ(at->second, fmt::format("model-{:05}-of-000096.safetensors", i + 1));
      ++found;
    }
  }
  EXPECT_EQ(found, released.size());
}

}  // namespace
}  // namespace sluice::format
