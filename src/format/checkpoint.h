#pragma once
#include "base/types.h"
#include "format/safetensors.h"
#include "format/storage.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::format {

/// One tensor of a checkpoint, as its shard's header describes it.
struct TensorInfo {
  DType dtype = DType::kBF16;
  uint8_t rank = 0;
  std::array<uint32_t, 4> shape{};  ///< The first `rank` entries count.
  ShardId shard;                    ///< Index into Checkpoint::files().
  uint64_t offset = 0;              ///< Bytes from the start of the file.
  uint64_t bytes = 0;
};

struct CheckpointFile {
  std::filesystem::path path;  ///< For messages: of a copy, or of a pack that has bytes of it.
  uint64_t bytes = 0;          ///< Of the shard.
};

/// A checkpoint in the released Hugging Face layout, opened for reading: config.json, the index,
/// and the header of every shard; the shards may lie in packs. Holds no tensor data. Immutable, so
/// any thread may read it.
class Checkpoint {
 public:
  /// Reads and checks all headers: lengths against file sizes, duplicate names, overlaps and holes,
  /// sizes against shape and dtype, and that index and shards name the same tensors. Throws Error
  /// that names the file and the tensor; never allocates more than a file's size for it. `volumes`:
  /// more folders to look for shards and packs, as Storage does.
  explicit Checkpoint(const std::filesystem::path& folder,
                      std::vector<std::filesystem::path> volumes = {});
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;

  [[nodiscard]] const std::filesystem::path& folder() const;
  [[nodiscard]] const std::string& config_json() const;         ///< The text of config.json.
  [[nodiscard]] std::span<const CheckpointFile> files() const;  ///< The shards, by id.
  [[nodiscard]] const Storage& storage() const;                 ///< Where their bytes lie.
  [[nodiscard]] Storage& storage();
  [[nodiscard]] uint64_t tensor_count() const;
  [[nodiscard]] uint64_t tensor_bytes() const;  ///< Of all tensors.
  /// Differs when config.json, or the name, size or header of any shard does. Says nothing of the
  /// weights, nor of the folder.
  [[nodiscard]] uint64_t digest() const;

  /// Nothing (null) when the checkpoint has no such tensor.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  /// Calls visit for every tensor, by shard and in the order of its header. Names are not kept, so
  /// this reads all headers once more.
  void visit_tensors(
      const std::function<void(std::string_view name, const TensorInfo&)>& visit) const;
  /// Throws Error(kCorrupt) that names tensor, file, and both shapes or dtypes when they differ,
  /// and Error(kNotFound) when the tensor is missing.
  const TensorInfo& require(std::string_view name, DType dtype,
                            std::initializer_list<uint64_t> shape) const;

  /// Reads a whole small tensor (buffered). Throws as StorageReader::read() does, and
  /// Error(kCorrupt) when it is not F32 or BF16. Values are exact.
  [[nodiscard]] std::vector<float> read_floats(const TensorInfo& tensor) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::format
