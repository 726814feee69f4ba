#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace sluice::format {

/// The dimensions of a checkpoint with random weights. `mla_layers` are numbered from one, as in
/// config.json.
struct SyntheticShape {
  uint32_t layers = 0, hidden = 0, vocab = 0, block = 0;
  std::vector<uint32_t> mla_layers;
  uint32_t mla_heads = 0, q_lora = 0, kv_lora = 0, nope = 0, rope = 0, value = 0;
  uint32_t kda_heads = 0, kda_dim = 0, conv_width = 4;
  uint32_t dense_layers = 1, dense_hidden = 0;
  uint32_t experts = 0, top_k = 0, shared = 2, expert_hidden = 0, latent = 0;
  /// Depth of the vision part, which a text engine skips: 27 blocks of fixed width in the release,
  /// 0 for two small tensors that stand for it.
  uint32_t vision_blocks = 0;

  /// Every structural part of K3 in some megabytes: two kinds of attention, two adjacent MLA layers
  /// at the end, a dense first layer, three blocks of residuals with a short last one.
  [[nodiscard]] static SyntheticShape tiny();
  /// The released dimensions; of the vision part only what stands for it.
  [[nodiscard]] static SyntheticShape k3();
  /// Fields by the names above; those that are missing are tiny()'s. Throws Error that names `path`
  /// and the field.
  [[nodiscard]] static SyntheticShape from_json(std::string_view json, const std::string& path);

  /// Another depth in the same rhythm: MLA in every fourth layer and in the last.
  void set_layers(uint32_t count);
  /// Another number of experts; a token then uses at most that many.
  void set_experts(uint32_t count);
};

struct SyntheticOptions {
  uint64_t seed = 1;
  bool overwrite = false;  ///< Replace a synthetic checkpoint that stands in the folder.
  /// Bytes written and bytes in all; may be empty.
  std::function<void(uint64_t done, uint64_t total)> progress{};
  bool headers_only =
      false;  ///< Leave all weights zero, in holes: for tests of opening and listing.
};

/// Writes a checkpoint in the released layout, one layer a shard, with random weights whose
/// activations keep their size through the layers. The same bytes for the same shape and seed on
/// every platform. Throws Error: kInvalidInput when the folder is in use or the shape cannot be,
/// kIo when the disk has too little room (before writing) or fails.
void write_synthetic_checkpoint(const std::filesystem::path& folder, const SyntheticShape& shape,
                                const SyntheticOptions& options);

/// Bytes of all its files, without headers.
[[nodiscard]] uint64_t synthetic_bytes(const SyntheticShape& shape);

}  // namespace sluice::format
