// A config that this code does not implement must be refused by the name of its field; without
// these it would run and print wrong text.
#include "model/shape.h"

#include "base/error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::model {
namespace {

using Json = nlohmann::ordered_json;

Json small_config() {
  return Json::parse(R"({"model_type": "kimi_k3", "text_config": {
    "hidden_size": 64, "num_hidden_layers": 4,
    "vocab_size": 512, "attn_res_block_size": 3, "rms_norm_eps": 1e-05,
    "max_position_embeddings": 4096, "bos_token_id": 508, "eos_token_id": 509,
    "pad_token_id": 511, "hidden_act": "situ", "mla_use_nope": true,
    "mla_use_output_gate": true, "moe_router_activation_func": "sigmoid",
    "latent_moe_use_norm": true, "moe_layer_freq": 1, "num_expert_group": 1, "topk_group":
    1, "tie_word_embeddings": false, "topk_method": "noaux_tc", "num_attention_heads": 2,
    "num_key_value_heads": 2, "q_lora_rank": 32, "kv_lora_rank": 16, "qk_nope_head_dim":
    16, "qk_rope_head_dim": 8, "v_head_dim": 16, "first_k_dense_replace": 1,
    "intermediate_size": 96, "num_experts": 8, "num_experts_per_token": 2,
    "moe_intermediate_size": 32, "routed_expert_hidden_size": 32, "num_shared_experts": 2,
    "moe_renormalize": true, "routed_scaling_factor": 1.0, "activation_situ_beta": 4.0,
    "activation_situ_linear_beta": 25.0, "linear_attn_config": {"num_heads": 2,
    "head_dim": 16, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0,
    "use_full_rank_gate": true, "full_attn_layers": [3, 4], "kda_layers": [1, 2]},
    "quantization_config": {"format": "mxfp4-pack-quantized"}}})");
}

TEST(Shape, ReadsEveryField) {
  const ModelShape shape = parse_shape(small_config().dump(), "config.json");
  EXPECT_EQ(shape.layers, 4u);
  EXPECT_EQ(shape.hidden, 64u);
  EXPECT_EQ(shape.is_mla, (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(shape.kda_width(), 32u);
  EXPECT_EQ(shape.query_width(), 48u);
  EXPECT_EQ(shape.cache_width(), 24u);
  EXPECT_EQ(shape.shared_hidden, 64u);
  EXPECT_EQ(shape.residual_sources(), 3u);
  EXPECT_EQ(shape.eos, 509);
  EXPECT_TRUE(shape.renormalize);
}

struct Refusal {
  const char* what;
  const char* patch;  ///< RFC 7396, applied to text_config.
  ErrorCode code;
  const char* field;  ///< Must be named.
};

class ShapeRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(ShapeRefusal, NamesTheField) {
  Json config = small_config();
  config["text_config"].merge_patch(Json::parse(GetParam().patch));
  try {
    (void)parse_shape(config.dump(), "folder/config.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(GetParam().field), std::string_view::npos)
        << error.what();
    for (const char* part : {"folder/config.json", "; give the folder of a K3 text model"}) {
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
    }
  }
}

constexpr Refusal kRefusals[] = {
    {"MissingField", R"({"hidden_size": null})", ErrorCode::kCorrupt, "text_config.hidden_size"},
    {"TextInsteadOfNumber", R"({"vocab_size": "512"})", ErrorCode::kCorrupt,
     "text_config.vocab_size"},
    {"Negative", R"({"num_hidden_layers": -3})", ErrorCode::kCorrupt, "num_hidden_layers"},
    {"Huge", R"({"hidden_size": 4000000000000})", ErrorCode::kCorrupt, "hidden_size"},
    {"Fraction", R"({"hidden_size": 64.5})", ErrorCode::kCorrupt, "hidden_size"},
    {"ZeroExperts", R"({"num_experts": 0})", ErrorCode::kCorrupt, "num_experts"},
    {"MoreChosenThanExperts", R"({"num_experts_per_token": 9})", ErrorCode::kCorrupt,
     "num_experts_per_token"},
    {"MoreLayersThanListed", R"({"num_hidden_layers": 200})", ErrorCode::kCorrupt,
     "full_attn_layers"},
    {"LayerListedTwice", R"({"linear_attn_config": {"kda_layers": [1, 2, 3]}})",
     ErrorCode::kCorrupt, "layer 3"},
    {"LayerZero", R"({"linear_attn_config": {"kda_layers": [0, 2]}})", ErrorCode::kCorrupt,
     "kda_layers"},
    {"LayerListIsNoList", R"({"linear_attn_config": {"kda_layers": 7}})", ErrorCode::kCorrupt,
     "kda_layers"},
    {"ZeroBlock", R"({"attn_res_block_size": 0})", ErrorCode::kCorrupt, "attn_res_block_size"},
    {"TokenOutsideVocabulary", R"({"eos_token_id": 512})", ErrorCode::kCorrupt, "eos_token_id"},
    {"NoLinearAttention", R"({"linear_attn_config": null})", ErrorCode::kCorrupt,
     "linear_attn_config"},
    {"OtherActivation", R"({"hidden_act": "silu"})", ErrorCode::kUnsupported, "hidden_act"},
    {"Rotary", R"({"mla_use_nope": false})", ErrorCode::kUnsupported, "mla_use_nope"},
    {"NoOutputGate", R"({"mla_use_output_gate": null})", ErrorCode::kUnsupported,
     "mla_use_output_gate"},
    {"SoftmaxRouter", R"({"moe_router_activation_func": "softmax"})", ErrorCode::kUnsupported,
     "moe_router_activation_func"},
    {"ExpertGroups", R"({"num_expert_group": 8})", ErrorCode::kUnsupported, "num_expert_group"},
    {"NoLatentNorm", R"({"latent_moe_use_norm": false})", ErrorCode::kUnsupported,
     "latent_moe_use_norm"},
    {"UnboundedGate", R"({"linear_attn_config": {"gate_lower_bound": null}})",
     ErrorCode::kUnsupported, "gate_lower_bound"},
    {"LowRankGate", R"({"linear_attn_config": {"use_full_rank_gate": false}})",
     ErrorCode::kUnsupported, "use_full_rank_gate"},
    {"TiedEmbeddings", R"({"tie_word_embeddings": true})", ErrorCode::kUnsupported,
     "tie_word_embeddings"},
    {"OtherQuantisation", R"({"quantization_config": {"format": "nvfp4"}})",
     ErrorCode::kUnsupported, "quantization_config.format"},
    {"GroupedHeads", R"({"num_key_value_heads": 1})", ErrorCode::kUnsupported,
     "num_key_value_heads"},
    {"UnevenGroups", R"({"routed_expert_hidden_size": 40})", ErrorCode::kUnsupported,
     "routed_expert_hidden_size"},
};

INSTANTIATE_TEST_SUITE_P(Fields, ShapeRefusal, testing::ValuesIn(kRefusals),
                         [](const auto& parameter) { return parameter.param.what; });

TEST(Shape, RefusesWhatIsNoConfig) {
  for (const char* text : {"", "[]", "{", "{}", "null", "{\"text_config\": 3}", "\xff\xfe"}) {
    EXPECT_THROW((void)parse_shape(text, "config.json"), Error) << text;
  }
}

}  // namespace
}  // namespace sluice::model
