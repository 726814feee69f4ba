// A checkpoint that lacks a tensor, or holds one of another shape, must be refused by name before
// the first token; without these the engine would compute with wrong weights.
#include "model/weights.h"

#include "base/error.h"
#include "model/test_checkpoint.h"

#include <cstring>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::model {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kPanelBytes = 64u << 10;
constexpr const char* kKda = "language_model.model.layers.1.self_attn.";

class WeightsTest : public testing::Test {
 protected:
  static const TestCheckpoint& good() {
    static const TestCheckpoint checkpoint(small_synthetic_shape());
    return checkpoint;
  }

  WeightMap load() const {
    const format::Checkpoint checkpoint(folder_.path());
    return {checkpoint, parse_shape(checkpoint.config_json(), "config.json"), kPanelBytes};
  }

  Error refusal(const TestCheckpoint& changed, bool with_data = false) const {
    changed.write(folder_.path(), with_data);
    try {
      (void)load();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "accepted";
    return {ErrorCode::kCancelled, "none"};
  }

  [[nodiscard]] std::string shard() const {
    return (folder_.path() / "model.safetensors").string();
  }

  const TestFolder folder_;
};

TEST_F(WeightsTest, BindsEveryTensor) {
  good().write(folder_.path());
  const format::Checkpoint checkpoint(folder_.path());
  const ModelShape shape = parse_shape(checkpoint.config_json(), "config.json");
  const WeightMap map(checkpoint, shape, kPanelBytes);
  EXPECT_EQ(map.layers.size(), 4u);
  EXPECT_EQ(map.expert_count(), 9u);
  EXPECT_EQ(map.segments.size(), map.pass_order.size() + 9);
  // Every byte is in a segment, in a small tensor or in the embedding; nothing is in two.
  uint64_t bytes = map.embedding->bytes;
  for (const format::Segment& segment : map.segments) {
    for (const format::Extent& extent : segment.extents) bytes += extent.bytes;
  }
  uint64_t small = 0;
  for (const StoredTensor& tensor : good().tensors) {
    const bool matrix = tensor.shape.size() == 2 && tensor.shape[0] != 1;
    if (!matrix) small += tensor.data.size();
  }
  EXPECT_EQ(bytes + small, checkpoint.tensor_bytes());
}

TEST_F(WeightsTest, EachMissingTensorIsNamed) {
  ASSERT_GT(good().tensors.size(), 100u);
  for (size_t i = 0; i < good().tensors.size(); ++i) {
    TestCheckpoint changed = good();
    const std::string name = changed.tensors[i].name;
    changed.tensors.erase(changed.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    const Error error = refusal(changed);
    EXPECT_EQ(error.code(), ErrorCode::kNotFound) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr(folder_.path().string())));
  }
}

TEST_F(WeightsTest, EachOtherShapeIsNamed) {
  for (size_t i = 0; i < good().tensors.size(); ++i) {
    TestCheckpoint changed = good();
    StoredTensor& tensor = changed.tensors[i];
    tensor.shape.insert(tensor.shape.begin() + 1, 1);
    const Error error = refusal(changed);
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("tensor " + tensor.name + " "), HasSubstr(shard()),
                                    HasSubstr(fmt::format("[{}]", fmt::join(tensor.shape, ", ")))));
  }
}

TEST_F(WeightsTest, EachOtherDtypeIsNamed) {
  for (size_t i = 0; i < good().tensors.size(); ++i) {
    TestCheckpoint changed = good();
    StoredTensor& tensor = changed.tensors[i];
    const std::string before = tensor.dtype;
    tensor.dtype = before == "F32" ? "BF16" : "F32";
    // Data of any contents and of the size that goes with the same shape.
    const uint64_t scale = before == "U8" ? 4 : before == "BF16" ? 2 : 1;
    tensor.data.resize(before == "F32" ? tensor.data.size() / 2 : tensor.data.size() * scale);
    const Error error = refusal(changed);
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("tensor " + tensor.name + " is " + tensor.dtype),
                                    HasSubstr("asks for " + before), HasSubstr(shard())));
  }
}

TEST_F(WeightsTest, PaddingOfTheDecayRatesMustBeZero) {
  const std::string name = std::string(kKda) + "A_log";
  TestCheckpoint changed = good();
  StoredTensor& rates = changed.at(name);
  ASSERT_EQ(rates.data.size(), 16 * sizeof(float));  // Six heads, padded to a head's columns.
  const float one = 1;
  std::memcpy(rates.data.data() + 6 * sizeof one, &one, sizeof one);
  const Error error = refusal(changed, true);
  EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr(shard()), HasSubstr("6 heads")));

  good().write(folder_.path());
  const SmallTensor padded = load().layers[1].kda.a_log;
  changed.at(name).data.resize(6 * sizeof one);
  std::memcpy(rates.data.data(), padded.data(), 6 * sizeof one);
  rates.shape = {6};
  changed.write(folder_.path());
  EXPECT_EQ(load().layers[1].kda.a_log, padded);  // Without the padding it is the same.

  rates.data.resize(5 * sizeof one);
  rates.shape = {5};
  EXPECT_EQ(refusal(changed).code(), ErrorCode::kCorrupt);
}

struct Claim {
  const char* what;
  std::function<void(nlohmann::json& text_config)> change;
  ErrorCode code;
  const char* names;
};

TEST_F(WeightsTest, ConfigThatClaimsOtherThanThereIs) {
  const Claim claims[] = {
      {"200 layers",
       [](auto& text) {
         text["num_hidden_layers"] = 200;
         for (int l = 5; l <= 200; ++l) text["linear_attn_config"]["kda_layers"].push_back(l);
       },
       ErrorCode::kNotFound, "language_model.model.layers.4."},
      {"more experts", [](auto& text) { text["num_experts"] = 65536; }, ErrorCode::kCorrupt,
       "layers.1.block_sparse_moe.gate.weight"},
      {"all layers dense", [](auto& text) { text["first_k_dense_replace"] = 4; },
       ErrorCode::kNotFound, "layers.1.mlp.gate_proj.weight"},
      {"another kind of attention",
       [](auto& text) {
         text["linear_attn_config"]["kda_layers"] = {1, 3};
         text["linear_attn_config"]["full_attn_layers"] = {2, 4};
       },
       ErrorCode::kNotFound, "layers.1.self_attn.q_a_proj.weight"},
      {"wider", [](auto& text) { text["hidden_size"] = 1u << 20; }, ErrorCode::kCorrupt,
       "layers.0.input_layernorm.weight"},
      {"fewer layers",
       [](auto& text) {
         text["num_hidden_layers"] = 3;
         text["linear_attn_config"]["full_attn_layers"] = nlohmann::json::array();
       },
       ErrorCode::kUnsupported, "language_model.model.layers.3."},
      {"larger vocabulary", [](auto& text) { text["vocab_size"] = 1024; }, ErrorCode::kCorrupt,
       "embed_tokens.weight"},
  };
  for (const Claim& claim : claims) {
    SCOPED_TRACE(claim.what);
    TestCheckpoint changed = good();
    nlohmann::json config = nlohmann::json::parse(changed.config);
    claim.change(config["text_config"]);
    changed.config = config.dump();
    const Error error = refusal(changed);
    EXPECT_EQ(error.code(), claim.code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(claim.names));
  }
}

TEST_F(WeightsTest, EachUnknownTensorIsNamed) {
  const StoredTensor stray{"", "BF16", {6}, std::string(12, 's')};
  for (const char* name :
       {"language_model.model.layers.1.self_attn.q_proj.bias",
        "language_model.model.layers.4.input_layernorm.weight",
        "language_model.model.layers.1.block_sparse_moe.experts.3.w1.weight_packed",
        "language_model.model.layers.1.block_sparse_moe.experts.0.w1.weight_shape",
        "model.layers.0.input_layernorm.weight", "vision_tower"}) {
    TestCheckpoint changed = good();
    changed.tensors.insert(changed.tensors.begin() + 5, stray);
    changed.tensors[5].name = name;
    const Error error = refusal(changed);
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr(fmt::format("tensor {} ", name)), HasSubstr(shard()),
                                    HasSubstr("does not implement")));
  }
}

TEST_F(WeightsTest, VisionTensorsAreSkipped) {
  TestCheckpoint changed = good();
  changed.tensors.insert(changed.tensors.begin() + 3,
                         {"vision_tower.x.weight", "F16", {3, 1}, std::string(6, 'v')});
  changed.write(folder_.path());
  EXPECT_EQ(load().small_floats(), [&] {
    good().write(folder_.path());
    return load().small_floats();
  }());
}

}  // namespace
}  // namespace sluice::model
