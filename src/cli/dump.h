#pragma once
#include "base/types.h"
#include "model/loaded_model.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

/// Collects every intermediate value of a prompt's passes, under the names of the golden files: the
/// rows of several passes follow each other. Holds all of it in memory, so it is for short prompts.
class DumpRecorder : public model::ForwardObserver {
 public:
  DumpRecorder(model::LoadedModel& loaded, uint64_t prompt_rows)
      : loaded_(loaded), prompt_rows_(prompt_rows) {}

  /// How long a run is. `logits_rows`: those that are given to add_floats(), and held once more by
  /// whoever gives them.
  struct Extent {
    uint64_t prompt_rows = 0, logits_rows = 0;
    uint32_t context = 0;
  };
  /// Bytes of memory that a dump takes at most.
  [[nodiscard]] static uint64_t bytes(const model::ModelShape& shape, const Extent& extent);

  void on_tensor(uint32_t layer, model::Tap tap, backend::Tensor tensor) override;
  void on_routes(uint32_t layer, const backend::Routes& routes) override;
  /// The caches after the prompt: kda_state [heads, dim, dim], conv_q, conv_k, conv_v [P, width -
  /// 1] oldest first, mla_cache [tokens, width].
  void add_state(model::SequenceState& state);
  void add_floats(const std::string& name, std::vector<uint64_t> shape, std::vector<float> values);
  void add_ids(const std::string& name, std::span<const TokenId> ids);
  /// Throws Error(kIo).
  void write(const std::filesystem::path& path) const;

 private:
  template <class T>
  struct Rows {
    std::vector<uint64_t> shape;  // shape[0] grows with each pass.
    std::vector<T> values;
  };
  [[nodiscard]] std::vector<float> download(backend::Tensor tensor) const;
  void append(const std::string& name, backend::Tensor tensor);

  model::LoadedModel& loaded_;
  const uint64_t prompt_rows_;
  std::map<std::string, Rows<float>> floats_;
  std::map<std::string, Rows<int32_t>> integers_;
};

}  // namespace sluice::cli
