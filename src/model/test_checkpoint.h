#pragma once
#include "format/checkpoint.h"
#include "format/safetensors.h"
#include "format/synthetic_checkpoint.h"
#include "io/test_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

/// What several tests of this folder need.
namespace sluice::model {

using io::TestFolder;

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct StoredTensor {
  std::string name, dtype;
  std::vector<uint64_t> shape;
  std::string data;
};

/// A checkpoint in memory, to be changed and written as one shard without an index.
struct TestCheckpoint {
  std::string config;
  std::vector<StoredTensor> tensors;  ///< In the order of their data; the vision part is left out.

  /// Random weights; see SyntheticShape.
  explicit TestCheckpoint(const format::SyntheticShape& shape) {
    const TestFolder folder;
    format::write_synthetic_checkpoint(folder.path(), shape, {});
    const format::Checkpoint checkpoint(folder.path());
    config = checkpoint.config_json();
    for (const format::CheckpointFile& file : checkpoint.files()) {
      const std::string text = file_text(file.path);
      const std::string path = file.path.string();
      const uint64_t length =
          format::header_length(std::as_bytes(std::span(text)).first(8), text.size(), path);
      format::parse_header(std::string_view(text).substr(8, length), text.size(), path,
                           [&](const format::HeaderTensor& t) {
                             tensors.push_back({std::string(t.name),
                                                std::string(format::dtype_name(t.dtype)),
                                                {t.shape.begin(), t.shape.begin() + t.rank},
                                                text.substr(t.offset, t.bytes)});
                           });
    }
  }

  [[nodiscard]] StoredTensor& at(std::string_view name) {
    return *std::find_if(tensors.begin(), tensors.end(),
                         [&](const StoredTensor& t) { return t.name == name; });
  }

  /// Without `with_data` all weights are zero.
  void write(const std::filesystem::path& folder, bool with_data = true) const {
    std::string header, data;
    uint64_t at = 0;
    for (const StoredTensor& t : tensors) {
      header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                            at == 0 ? '{' : ',', t.name, t.dtype, fmt::join(t.shape, ","), at,
                            at + t.data.size());
      at += t.data.size();
      if (with_data) data += t.data;
    }
    header += '}';
    std::string length;
    for (size_t i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 255);
    const std::filesystem::path shard = folder / "model.safetensors";
    std::ofstream(shard, std::ios::binary) << length << header << data;
    std::filesystem::resize_file(shard, 8 + header.size() + at);
    std::ofstream(folder / "config.json", std::ios::binary) << config;
  }
};

/// Four layers (three KDA, then MLA), the first of them dense, with three experts each.
inline format::SyntheticShape small_synthetic_shape() {
  format::SyntheticShape shape = format::SyntheticShape::tiny();
  shape.set_layers(4);
  shape.set_experts(3);
  shape.top_k = 2;
  shape.vocab = 512;
  return shape;
}

}  // namespace sluice::model
