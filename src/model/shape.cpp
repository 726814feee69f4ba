#include "model/shape.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace sluice::model {
namespace {

using Json = nlohmann::json;

// Larger values are typing errors or attacks; the released model is at least 16 times below each.
constexpr uint32_t kLayersMax = 4096, kWidthMax = 1u << 20, kVocabMax = 1u << 24,
                   kContextMax = 1u << 30;

[[noreturn]] void refuse(ErrorCode code, const std::string& path, const std::string& why) {
  throw Error(code,
              "{}: {}; give the folder of a K3 text model, and fetch the file anew if this is one",
              path, why);
}

/// One JSON object of the config whose fields are asked for by name; every refusal names file and
/// field.
class Fields {
 public:
  Fields(const Json& object, std::string prefix, const std::string& path)
      : object_(object), prefix_(std::move(prefix)), path_(path) {}

  [[nodiscard]] bool has(const char* name) const {
    return object_.contains(name) && !object_[name].is_null();
  }

  [[nodiscard]] Fields object(const char* name) const {
    if (!has(name) || !object_[name].is_object()) fail(name, "is missing or not an object");
    return {object_[name], prefix_ + name + ".", path_};
  }

  [[nodiscard]] uint32_t count(const char* name, uint32_t low, uint32_t high) const {
    const Json& value = require(name);
    if (!value.is_number_integer()) fail(name, "is not an integer");
    const bool fits = value.is_number_unsigned()
                          ? value.get<uint64_t>() <= high && value.get<uint64_t>() >= low
                          : low == 0 && value.get<int64_t>() == 0;
    if (!fits) fail(name, fmt::format("is {}, but must be {} to {}", value.dump(), low, high));
    return value.get<uint32_t>();
  }

  [[nodiscard]] float number(const char* name, double low, double high) const {
    const Json& value = require(name);
    if (!value.is_number()) fail(name, "is not a number");
    const double x = value.get<double>();
    if (!(x >= low && x <= high))
      fail(name, fmt::format("is {}, but must be {} to {}", x, low, high));
    return static_cast<float>(x);
  }

  [[nodiscard]] bool flag(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    if (!object_[name].is_boolean()) fail(name, "is not true or false");
    return object_[name].get<bool>();
  }

  [[nodiscard]] int32_t token(const char* name, uint32_t vocab) const {
    return has(name) ? static_cast<int32_t>(count(name, 0, vocab - 1)) : -1;
  }

  [[nodiscard]] std::vector<uint32_t> list(const char* name, uint32_t high) const {
    const Json& value = require(name);
    if (!value.is_array() || value.size() > high) fail(name, "is not a list of layer numbers");
    std::vector<uint32_t> numbers;
    for (const Json& entry : value) {
      if (!entry.is_number_unsigned() || entry.get<uint64_t>() < 1 ||
          entry.get<uint64_t>() > high) {
        fail(name,
             fmt::format("has the entry {}, but layers are numbered 1 to {}", entry.dump(), high));
      }
      numbers.push_back(entry.get<uint32_t>());
    }
    return numbers;
  }

  /// Refuses any value but `only`; a missing field passes when `missing_ok`.
  void only(const char* name, const Json& only, bool missing_ok = false) const {
    if (!has(name) && (missing_ok || only.is_null())) return;
    if (!has(name) || object_[name] != only) {
      unsupported(name, fmt::format("is {}, but only {} is implemented",
                                    has(name) ? object_[name].dump() : "missing", only.dump()));
    }
  }

  [[noreturn]] void fail(const char* name, const std::string& why) const {
    refuse(ErrorCode::kCorrupt, path_, fmt::format("{}{} {}", prefix_, name, why));
  }

  [[noreturn]] void unsupported(const char* name, const std::string& why) const {
    refuse(ErrorCode::kUnsupported, path_, fmt::format("{}{} {}", prefix_, name, why));
  }

 private:
  const Json& require(const char* name) const {
    if (!has(name)) fail(name, "is missing");
    return object_[name];
  }

  const Json& object_;
  std::string prefix_;
  const std::string& path_;
};

void refuse_what_is_not_implemented(const Fields& text, const Fields& linear) {
  text.only("hidden_act", "situ");
  text.only("mla_use_nope", true);
  text.only("mla_use_output_gate", true);
  text.only("moe_router_activation_func", "sigmoid");
  text.only("latent_moe_use_norm", true);
  text.only("moe_layer_freq", 1, true);
  text.only("num_expert_group", 1, true);
  text.only("tie_word_embeddings", false, true);
  text.only("rope_scaling", nullptr);
  text.only("topk_method", "noaux_tc", true);
  linear.only("use_full_rank_gate", true);
  if (!linear.has("gate_lower_bound")) {
    linear.unsupported("gate_lower_bound",
                       "is missing: only the bounded decay gate is implemented");
  }
  if (text.has("quantization_config")) {
    text.object("quantization_config").only("format", "mxfp4-pack-quantized");
  }
}

void read_layer_lists(const Fields& linear, ModelShape& shape) {
  shape.is_mla.assign(shape.layers, false);
  std::vector<uint32_t> times(shape.layers, 0);
  for (const uint32_t layer : linear.list("full_attn_layers", shape.layers)) {
    shape.is_mla[layer - 1] = true;
    ++times[layer - 1];
  }
  for (const uint32_t layer : linear.list("kda_layers", shape.layers)) ++times[layer - 1];
  for (uint32_t l = 0; l < shape.layers; ++l) {
    if (times[l] != 1) {
      linear.fail(
          "full_attn_layers",
          fmt::format("and kda_layers together name layer {} {} times, not once", l + 1, times[l]));
    }
  }
}

void read_attention(const Fields& text, const Fields& linear, ModelShape& shape) {
  shape.kda_heads = linear.count("num_heads", 1, 4096);
  shape.kda_head_dim = linear.count("head_dim", 1, 4096);
  shape.conv_width = linear.count("short_conv_kernel_size", 2, 64);
  shape.gate_lower_bound = linear.number("gate_lower_bound", -80, 0);
  shape.mla_heads = text.count("num_attention_heads", 1, 4096);
  if (text.has("num_key_value_heads") &&
      text.count("num_key_value_heads", 1, 4096) != shape.mla_heads) {
    text.unsupported("num_key_value_heads",
                     "differs from num_attention_heads: grouped heads are not implemented");
  }
  shape.q_lora = text.count("q_lora_rank", 1, kWidthMax);
  shape.kv_lora = text.count("kv_lora_rank", 1, kWidthMax);
  shape.nope = text.count("qk_nope_head_dim", 1, 65536);
  shape.rope = text.count("qk_rope_head_dim", 1, 65536);
  shape.value = text.count("v_head_dim", 1, 65536);
  if (uint64_t{shape.mla_heads} * (shape.nope + shape.rope + shape.value) > kWidthMax ||
      uint64_t{shape.kda_heads} * shape.kda_head_dim > kWidthMax) {
    text.unsupported("num_attention_heads", "times the head sizes is wider than a million columns");
  }
}

void read_experts(const Fields& text, ModelShape& shape) {
  shape.dense_layers = text.count("first_k_dense_replace", 0, shape.layers);
  shape.dense_hidden = text.count("intermediate_size", 1, kWidthMax);
  shape.experts = text.count("num_experts", 1, 65536);
  shape.experts_per_token = text.count("num_experts_per_token", 1, shape.experts);
  shape.expert_hidden = text.count("moe_intermediate_size", 1, kWidthMax);
  shape.latent = text.count("routed_expert_hidden_size", 1, kWidthMax);
  const uint32_t shared = text.count("num_shared_experts", 1, 64);
  if (uint64_t{shared} * shape.expert_hidden > kWidthMax) {
    text.fail("num_shared_experts", "times moe_intermediate_size is wider than a million columns");
  }
  shape.shared_hidden = shared * shape.expert_hidden;
  shape.renormalize = text.flag("moe_renormalize", true) && shape.experts_per_token > 1;
  shape.routed_scale =
      text.has("routed_scaling_factor") ? text.number("routed_scaling_factor", 0, 1e6) : 1.0f;
  shape.situ_beta = text.number("activation_situ_beta", 1e-3, 1e6);
  shape.situ_linear_beta = text.number("activation_situ_linear_beta", 1e-3, 1e6);
  if (uint64_t{shape.experts_per_token} * shape.latent > 16 * uint64_t{kWidthMax}) {
    text.unsupported("num_experts_per_token",
                     "times routed_expert_hidden_size is wider than 16 million columns");
  }
  for (const auto& [name, width] : {std::pair{"moe_intermediate_size", shape.expert_hidden},
                                    std::pair{"routed_expert_hidden_size", shape.latent}}) {
    if (width % 32 != 0) {
      text.unsupported(name,
                       fmt::format("is {}: MXFP4 groups need a multiple of 32 columns", width));
    }
  }
}

}  // namespace

ModelShape parse_shape(std::string_view config_json, const std::string& path) {
  const Json root = Json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) refuse(ErrorCode::kCorrupt, path, "is not a JSON object");
  const Fields text = Fields(root, "", path).object("text_config");
  const Fields linear = text.object("linear_attn_config");
  refuse_what_is_not_implemented(text, linear);

  ModelShape shape;
  shape.layers = text.count("num_hidden_layers", 1, kLayersMax);
  shape.hidden = text.count("hidden_size", 1, kWidthMax);
  shape.vocab = text.count("vocab_size", 1, kVocabMax);
  shape.attn_residual_block = text.count("attn_res_block_size", 1, kLayersMax);
  shape.norm_epsilon = text.number("rms_norm_eps", 0, 1);
  shape.context_max = text.count("max_position_embeddings", 1, kContextMax);
  shape.bos = text.token("bos_token_id", shape.vocab);
  shape.eos = text.token("eos_token_id", shape.vocab);
  shape.pad = text.token("pad_token_id", shape.vocab);
  read_layer_lists(linear, shape);
  read_attention(text, linear, shape);
  read_experts(text, shape);
  return shape;
}

}  // namespace sluice::model
