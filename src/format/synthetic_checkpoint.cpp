#include "format/synthetic_checkpoint.h"

#include "base/error.h"
#include "format/synthetic_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kPieceBytes = 1u << 18;  // Stays in a core's cache until it is written.
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr uint64_t kSpareBytes = 64u << 20;      // For headers, and for others who use the disk.
constexpr const char* kMark = "synthetic.json";  // Stands in folders that may be overwritten.

/// A stream of random words that depends on the seed and the tensor's name alone (SplitMix64 over a
/// counter).
class Words {
 public:
  Words(uint64_t seed, std::string_view name)
      : state_(seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

uint16_t to_bf16(float value) {
  uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  return static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >>
                               16);  // To nearest, ties to even.
}

/// Draws one tensor piece by piece.
class Drawer {
 public:
  Drawer(const Fill& fill, uint64_t seed, const std::string& name)
      : fill_(fill), words_(seed, name) {}

  void draw(std::span<std::byte> out) {
    switch (fill_.kind) {
      case Fill::Kind::kBf16:
        return draw_bf16(out);
      case Fill::Kind::kF32:
      case Fill::Kind::kRates:
        return draw_f32(out);
      case Fill::Kind::kCodes:
        return draw_words(out, [](uint64_t word) { return word; });
      case Fill::Kind::kScales:
        return draw_scales(out);
    }
  }

 private:
  template <class Function>
  void draw_words(std::span<std::byte> out, Function function) {
    for (size_t at = 0; at < out.size(); at += 8) {
      const uint64_t word = function(words_.next());
      std::memcpy(out.data() + at, &word, std::min<size_t>(8, out.size() - at));
    }
  }

  void draw_bf16(std::span<std::byte> out) {
    // A uniform number of deviation 1 lies within the square root of 3.
    const float step = fill_.b * 1.7320508f / 32768.0f;
    draw_words(out, [&](uint64_t word) {
      uint64_t four = 0;
      for (int i = 0; i < 64; i += 16) {
        const auto signed_value = static_cast<int32_t>(word >> i & 0xffff) - 32768;
        four |= uint64_t{to_bf16(fill_.a + step * static_cast<float>(signed_value))} << i;
      }
      return four;
    });
  }

  void draw_f32(std::span<std::byte> out) {
    const float step = (fill_.b - fill_.a) / 16777216.0f;
    for (size_t at = 0; at < out.size(); at += sizeof(float), ++drawn_) {
      const float uniform = fill_.a + step * static_cast<float>(words_.next() >> 40);
      const float value =
          fill_.kind == Fill::Kind::kRates && drawn_ >= fill_.count ? 0.0f : uniform;
      std::memcpy(out.data() + at, &value, sizeof value);
    }
  }

  void draw_scales(std::span<std::byte> out) {
    const auto middle = static_cast<uint64_t>(fill_.a);
    draw_words(out, [&](uint64_t word) {
      uint64_t eight = 0;
      for (int i = 0; i < 64; i += 8) eight |= (middle - 1 + (word >> i & 0xff) % 3) << i;
      return eight;
    });
  }

  const Fill& fill_;
  Words words_;
  uint64_t drawn_ = 0;
};

/// Writes shards piece by piece and reports the progress of all.
class ShardFiller {
 public:
  ShardFiller(const SyntheticOptions& options, uint64_t total) : options_(options), total_(total) {}

  void write(const fs::path& path, const std::vector<SyntheticTensor>& tensors) {
    std::vector<WriterTensor> declared;
    for (const SyntheticTensor& tensor : tensors) declared.push_back(tensor.tensor);
    SafetensorsWriter writer(path, std::move(declared));
    if (options_.headers_only) {
      writer.skip_rest();
    } else {
      for (const SyntheticTensor& tensor : tensors) fill(tensor, writer);
    }
    writer.commit();
  }

 private:
  void fill(const SyntheticTensor& tensor, SafetensorsWriter& writer) {
    Drawer drawer(tensor.fill, options_.seed, tensor.tensor.name);
    for (uint64_t at = 0; at < tensor.tensor.bytes; at += piece_.size()) {
      const std::span<std::byte> part =
          std::span(piece_).first(std::min<uint64_t>(piece_.size(), tensor.tensor.bytes - at));
      drawer.draw(part);
      writer.write(part);
      done_ += part.size();
      if (options_.progress) options_.progress(done_, total_);
    }
  }

  const SyntheticOptions& options_;
  const uint64_t total_;
  uint64_t done_ = 0;
  std::vector<std::byte> piece_ = std::vector<std::byte>(kPieceBytes);
};

Json make_config(const SyntheticShape& s) {
  std::vector<uint32_t> kda;
  for (uint32_t l = 1; l <= s.layers; ++l) {
    if (std::find(s.mla_layers.begin(), s.mla_layers.end(), l) == s.mla_layers.end())
      kda.push_back(l);
  }
  // The special tokens are the last 256 ids, in the released order.
  const uint32_t special = s.vocab - 256;
  const Json ids = {
      {"bos_token_id", special}, {"eos_token_id", special + 2}, {"pad_token_id", special + 255}};
  Json text = {{"model_type", "kimi_linear"},
               {"vocab_size", s.vocab},
               {"hidden_size", s.hidden},
               {"num_hidden_layers", s.layers},
               {"max_position_embeddings", 1048576},
               {"rms_norm_eps", 1e-5},
               {"hidden_act", "situ"},
               {"activation_situ_beta", 4.0},
               {"activation_situ_linear_beta", 25.0},
               {"intermediate_size", s.dense_hidden},
               {"first_k_dense_replace", s.dense_layers},
               {"moe_layer_freq", 1},
               {"num_experts", s.experts},
               {"num_experts_per_token", s.top_k},
               {"num_shared_experts", s.shared},
               {"moe_intermediate_size", s.expert_hidden},
               {"routed_expert_hidden_size", s.latent},
               {"latent_moe_use_norm", true},
               {"moe_router_activation_func", "sigmoid"},
               {"topk_method", "noaux_tc"},
               {"moe_renormalize", true},
               {"routed_scaling_factor", 1.0},
               {"use_grouped_topk", true},
               {"num_expert_group", 1},
               {"topk_group", 1},
               {"num_attention_heads", s.mla_heads},
               {"num_key_value_heads", s.mla_heads},
               {"q_lora_rank", s.q_lora},
               {"kv_lora_rank", s.kv_lora},
               {"qk_nope_head_dim", s.nope},
               {"qk_rope_head_dim", s.rope},
               {"v_head_dim", s.value},
               {"mla_use_nope", true},
               {"mla_use_output_gate", true},
               {"attn_res_block_size", s.block},
               {"tie_word_embeddings", false}};
  text["linear_attn_config"] = {{"num_heads", s.kda_heads},
                                {"head_dim", s.kda_dim},
                                {"short_conv_kernel_size", s.conv_width},
                                {"gate_lower_bound", -5.0},
                                {"use_full_rank_gate", true},
                                {"full_attn_layers", s.mla_layers},
                                {"kda_layers", kda}};
  text["quantization_config"] = {{"format", "mxfp4-pack-quantized"},
                                 {"quant_method", "compressed-tensors"}};
  text.update(ids);
  Json config = {{"architectures", {"KimiK3ForConditionalGeneration"}},
                 {"model_type", "kimi_k3"},
                 {"dtype", "bfloat16"},
                 {"tie_word_embeddings", false}};
  config.update(ids);
  config["text_config"] = std::move(text);
  return config;
}

void write_text(const fs::path& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

[[noreturn]] void refuse(const char* field, const char* why) {
  throw Error(ErrorCode::kInvalidInput, "synthetic shape: {} {}", field, why);
}

// Many times the release, and as wide as the engine accepts: beyond, bytes could overflow 64 bits.
void check_widths(const SyntheticShape& s) {
  constexpr uint64_t kWidthMax = 1u << 20;
  for (const auto& [field, width] :
       {std::pair{"hidden", uint64_t{s.hidden}},
        {"dense_hidden", uint64_t{s.dense_hidden}},
        {"latent", uint64_t{s.latent}},
        {"q_lora", uint64_t{s.q_lora}},
        {"kv_lora", uint64_t{s.kv_lora}},
        {"mla_heads", uint64_t{s.mla_heads} * (uint64_t{s.nope} + s.rope + s.value)},
        {"kda_heads", uint64_t{s.kda_heads} * s.kda_dim},
        {"shared", uint64_t{s.shared} * s.expert_hidden}}) {
    if (width > kWidthMax) refuse(field, "makes a matrix wider than 1048576");
  }
  if (s.vocab > 1u << 24) refuse("vocab", "must be at most 16777216");
  if (s.conv_width < 2 || s.conv_width > 64) refuse("conv_width", "must be 2 to 64");
}

void check(const SyntheticShape& s) {
  for (const auto& [field, value] : {std::pair{"layers", s.layers},
                                     {"hidden", s.hidden},
                                     {"block", s.block},
                                     {"mla_heads", s.mla_heads},
                                     {"q_lora", s.q_lora},
                                     {"kv_lora", s.kv_lora},
                                     {"nope", s.nope},
                                     {"rope", s.rope},
                                     {"value", s.value},
                                     {"kda_heads", s.kda_heads},
                                     {"kda_dim", s.kda_dim},
                                     {"dense_hidden", s.dense_hidden},
                                     {"experts", s.experts},
                                     {"top_k", s.top_k},
                                     {"shared", s.shared},
                                     {"expert_hidden", s.expert_hidden},
                                     {"latent", s.latent}}) {
    if (value == 0) refuse(field, "must be at least 1");
  }
  // The largest shape is several times the released one; it bounds what a typing error costs.
  if (s.layers > 1024) refuse("layers", "must be at most 1024");
  if (s.experts > 8192) refuse("experts", "must be at most 8192");
  if (s.vision_blocks > 1024) refuse("vision_blocks", "must be at most 1024");
  if (s.vocab < 512) refuse("vocab", "must be at least 512: 256 bytes and 256 special tokens");
  if (s.expert_hidden % 32 != 0) refuse("expert_hidden", "must be a multiple of 32");
  if (s.latent % 32 != 0) refuse("latent", "must be a multiple of 32");
  check_widths(s);
  if (s.top_k > s.experts) refuse("top_k", "is larger than experts");
  if (s.dense_layers > s.layers) refuse("dense_layers", "is larger than layers");
  for (const uint32_t layer : s.mla_layers) {
    if (layer < 1 || layer > s.layers) refuse("mla_layers", "names a layer outside 1 to layers");
    if (std::count(s.mla_layers.begin(), s.mla_layers.end(), layer) > 1) {
      refuse("mla_layers", "names a layer twice");
    }
  }
}

// Removes what an earlier call wrote; whatever else a user keeps there stays.
void remove_checkpoint(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files = {folder / "config.json", folder / "generation_config.json",
                                 folder / kIndexName};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model-") && name.ends_with(".safetensors")) files.push_back(entry.path());
  }
  for (const fs::path& file : files) {
    if (!error) fs::remove(file, error);
  }
  if (error) {
    throw Error(ErrorCode::kIo, "{}: cannot be replaced: {}", folder.string(), error.message());
  }
}

void prepare(const fs::path& folder, uint64_t bytes, bool overwrite) {
  std::error_code error;
  fs::create_directories(folder, error);
  const bool empty = !error && fs::is_empty(folder, error);
  if (error) {
    throw Error(ErrorCode::kIo, "{}: cannot be created: {}", folder.string(), error.message());
  }
  if (!empty) {
    if (!overwrite || !fs::exists(folder / kMark, error)) {
      throw Error(
          ErrorCode::kInvalidInput,
          "{}: is not empty; choose another folder, or --force to replace a synthetic checkpoint",
          folder.string());
    }
    remove_checkpoint(folder);
  }
  const fs::space_info space = fs::space(folder, error);
  if (!error && space.available < bytes + kSpareBytes) {
    throw Error(ErrorCode::kIo,
                "{}: the checkpoint has {:.1f} GB, but the disk has room for {:.1f} GB",
                folder.string(), static_cast<double>(bytes) / 1e9,
                static_cast<double>(space.available) / 1e9);
  }
}

}  // namespace

SyntheticShape SyntheticShape::tiny() {
  SyntheticShape s{
      .layers = 13, .hidden = 128, .vocab = 1024, .block = 5, .mla_layers = {4, 8, 12, 13}};
  s.mla_heads = 4;
  s.q_lora = 64;
  s.kv_lora = 32;
  s.nope = 24;
  s.rope = 8;
  s.value = 16;
  s.kda_heads = 6;
  s.kda_dim = 16;
  s.dense_hidden = 320;
  s.experts = 32;
  s.top_k = 4;
  s.expert_hidden = 96;
  s.latent = 64;
  return s;
}

SyntheticShape SyntheticShape::k3() {
  SyntheticShape s;
  s.hidden = 7168;
  s.vocab = 163840;
  s.block = 12;
  s.mla_heads = 96;
  s.q_lora = 1536;
  s.kv_lora = 512;
  s.nope = 128;
  s.rope = 64;
  s.value = 128;
  s.kda_heads = 96;
  s.kda_dim = 128;
  s.dense_hidden = 33792;
  s.experts = 896;
  s.top_k = 16;
  s.expert_hidden = 3072;
  s.latent = 3584;
  s.set_layers(93);
  return s;
}

void SyntheticShape::set_layers(uint32_t count) {
  layers = count;
  mla_layers.clear();
  for (uint32_t l = 1; l <= count; ++l) {
    if (l % 4 == 0 || l == count) mla_layers.push_back(l);
  }
  dense_layers = std::min(dense_layers, count);
}

void SyntheticShape::set_experts(uint32_t count) {
  experts = count;
  top_k = std::min(top_k, count);
}

SyntheticShape SyntheticShape::from_json(std::string_view json, const std::string& path) {
  SyntheticShape s = tiny();
  const auto root = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) throw Error(ErrorCode::kInvalidInput, "{}: is not a JSON object", path);
  const std::pair<const char*, uint32_t*> fields[] = {{"layers", &s.layers},
                                                      {"hidden", &s.hidden},
                                                      {"vocab", &s.vocab},
                                                      {"block", &s.block},
                                                      {"mla_heads", &s.mla_heads},
                                                      {"q_lora", &s.q_lora},
                                                      {"kv_lora", &s.kv_lora},
                                                      {"nope", &s.nope},
                                                      {"rope", &s.rope},
                                                      {"value", &s.value},
                                                      {"kda_heads", &s.kda_heads},
                                                      {"kda_dim", &s.kda_dim},
                                                      {"conv_width", &s.conv_width},
                                                      {"dense_layers", &s.dense_layers},
                                                      {"dense_hidden", &s.dense_hidden},
                                                      {"experts", &s.experts},
                                                      {"top_k", &s.top_k},
                                                      {"shared", &s.shared},
                                                      {"expert_hidden", &s.expert_hidden},
                                                      {"latent", &s.latent},
                                                      {"vision_blocks", &s.vision_blocks}};
  const auto number = [&](const std::string& name, const nlohmann::json& value) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > 1u << 24) {
      throw Error(ErrorCode::kInvalidInput, "{}: {} is not a number up to 16777216", path, name);
    }
    return value.get<uint32_t>();
  };
  for (const auto& [name, value] : root.items()) {
    const auto field = std::find_if(std::begin(fields), std::end(fields),
                                    [&, &key = name](const auto& f) { return key == f.first; });
    if (field != std::end(fields)) {
      *field->second = number(name, value);
    } else if (name == "mla_layers" && value.is_array()) {
      s.mla_layers.clear();
      for (const auto& layer : value) s.mla_layers.push_back(number(name, layer));
    } else {
      throw Error(ErrorCode::kInvalidInput, "{}: unknown field {}", path, name);
    }
  }
  if (root.contains("layers") && !root.contains("mla_layers")) s.set_layers(s.layers);
  check(s);
  return s;
}

uint64_t synthetic_bytes(const SyntheticShape& shape) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < synthetic_shard_count(shape); ++i) {
    for (const SyntheticTensor& tensor : synthetic_shard(shape, i)) bytes += tensor.tensor.bytes;
  }
  return bytes;
}

void write_synthetic_checkpoint(const fs::path& folder, const SyntheticShape& shape,
                                const SyntheticOptions& options) {
  check(shape);
  const uint64_t total = synthetic_bytes(shape);
  prepare(folder, options.headers_only ? 0 : total, options.overwrite);
  write_text(folder / kMark, Json{{"seed", options.seed}}.dump() + "\n");
  nlohmann::json weight_map = nlohmann::json::object();  // Quick with half a million entries.
  ShardFiller filler(options, total);
  const uint32_t count = synthetic_shard_count(shape);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:06}.safetensors", i + 1, count);
    const std::vector<SyntheticTensor> tensors = synthetic_shard(shape, i);
    for (const SyntheticTensor& tensor : tensors) weight_map[tensor.tensor.name] = name;
    filler.write(folder / name, tensors);
  }
  const nlohmann::json index = {{"metadata", {{"total_size", total}}},
                                {"weight_map", std::move(weight_map)}};
  write_text(folder / kIndexName, index.dump(1) + "\n");
  const Json config = make_config(shape);
  write_text(folder / "generation_config.json",
             Json{{"max_length", 1048576}, {"eos_token_id", config["eos_token_id"]}}.dump() + "\n");
  write_text(folder / "config.json", config.dump(1) + "\n");  // Last: a folder with it is complete.
}

}  // namespace sluice::format
