// The six tensors of an expert may lie anywhere in the files and panels are cut anywhere: a wrong
// place would feed the wrong bytes to the right matrix, which no shape check can see.
#include "io/input_file.h"
#include "io/pread_drives.h"
#include "model/embedding.h"
#include "model/test_checkpoint.h"
#include "model/weights.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace sluice::model {
namespace {

/// What a streamer would bring into a slot.
std::vector<std::byte> load_segment(const format::Checkpoint& checkpoint,
                                    const format::Segment& segment) {
  std::vector<std::byte> memory(segment.memory_bytes);
  for (const format::Extent& extent : segment.extents) {
    const io::InputFile file(checkpoint.files()[extent.shard.value].path.string());
    file.read(extent.offset, std::span(memory).subspan(extent.memory_offset, extent.bytes));
  }
  return memory;
}

/// `extents`: of each expert; 0 for any number.
void expect_experts(const TestFolder& folder, TestCheckpoint& stored, size_t extents) {
  const format::Checkpoint checkpoint(folder.path());
  const ModelShape shape = parse_shape(checkpoint.config_json(), "config.json");
  const WeightMap map(checkpoint, shape, 64u << 10);
  for (uint32_t l = 1; l < shape.layers; ++l) {
    for (uint32_t e = 0; e < shape.experts; ++e) {
      const SegmentId id{map.layers[l].moe.first_expert + e};
      const format::Segment& segment = map.segments[id.value];
      if (extents != 0) {
        EXPECT_EQ(segment.extents.size(), extents);
      }
      const std::vector<std::byte> memory = load_segment(checkpoint, segment);
      const backend::ExpertWeights expert = map.expert(id, memory.data());
      const std::pair<const char*, const std::byte*> parts[] = {
          {"w1.weight_packed", expert.gate_codes}, {"w1.weight_scale", expert.gate_scales},
          {"w2.weight_packed", expert.down_codes}, {"w2.weight_scale", expert.down_scales},
          {"w3.weight_packed", expert.up_codes},   {"w3.weight_scale", expert.up_scales}};
      for (const auto& [part, bytes] : parts) {
        const std::string& want =
            stored
                .at(fmt::format("language_model.model.layers.{}.block_sparse_moe.experts.{}.{}", l,
                                e, part))
                .data;
        ASSERT_LE(bytes + want.size(), memory.data() + memory.size());
        EXPECT_EQ(std::memcmp(bytes, want.data(), want.size()), 0) << l << " " << e << " " << part;
      }
    }
  }
}

TEST(WeightsLayout, ExpertsInAnyPhysicalOrder) {
  TestCheckpoint stored(small_synthetic_shape());
  const TestFolder folder;
  stored.write(folder.path());
  expect_experts(folder, stored, 1);  // As released: one contiguous read each.

  std::reverse(stored.tensors.begin(), stored.tensors.end());
  stored.write(folder.path());
  expect_experts(folder, stored, 6);  // Contiguous, but backwards.

  for (uint32_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    std::shuffle(stored.tensors.begin(), stored.tensors.end(), random);
    stored.write(folder.path());
    expect_experts(folder, stored, 0);
  }
}

TEST(WeightsLayout, PanelsTileEachMatrix) {
  TestCheckpoint stored(small_synthetic_shape());
  const TestFolder folder;
  stored.write(folder.path());
  const format::Checkpoint checkpoint(folder.path());
  const ModelShape shape = parse_shape(checkpoint.config_json(), "config.json");
  for (const uint64_t panel_bytes : {1u, 1000u, 4096u, 100'000u, 1u << 30}) {
    SCOPED_TRACE(fmt::format("panels of {} bytes", panel_bytes));
    const WeightMap map(checkpoint, shape, panel_bytes);
    const std::string layer = "language_model.model.layers.3.self_attn.";
    const uint32_t head_rows = shape.nope + shape.value;
    for (const auto& [name, matrix, unit] :
         {std::tuple{std::string("language_model.lm_head.weight"), &map.lm_head, 1u},
          {layer + "o_proj.weight", &map.layers[3].mla.o, 1u},
          {layer + "kv_b_proj.weight", &map.layers[3].mla.kv_b, head_rows}}) {
      const std::string& want = stored.at(name).data;
      const size_t row_bytes = size_t{matrix->cols} * 2;
      uint32_t row = 0;
      for (const SpinePanel& panel : matrix->panels) {
        EXPECT_EQ(panel.first_row, row);
        EXPECT_EQ(panel.rows % unit, 0u);
        EXPECT_TRUE(panel.rows == unit || panel.rows * row_bytes <= panel_bytes);
        const std::vector<std::byte> memory =
            load_segment(checkpoint, map.segments[panel.segment.value]);
        ASSERT_LE(panel.memory_offset + panel.rows * row_bytes, memory.size());
        EXPECT_EQ(std::memcmp(memory.data() + panel.memory_offset, want.data() + row * row_bytes,
                              panel.rows * row_bytes),
                  0);
        row += panel.rows;
      }
      EXPECT_EQ(row, matrix->rows) << name;
    }
  }
}

// embed_tokens of the release is longer than what one call reads, and than a 32-bit offset tells.
TEST(WeightsLayout, RealTensorsBeyondTwoGibibytes) {
  format::SyntheticShape synthetic = format::SyntheticShape::k3();
  synthetic.set_layers(2);
  synthetic.set_experts(2);
  const TestFolder folder;
  format::write_synthetic_checkpoint(folder.path(), synthetic, {.headers_only = true});
  const format::Checkpoint checkpoint(folder.path());
  const ModelShape shape = parse_shape(checkpoint.config_json(), "config.json");
  const WeightMap map(checkpoint, shape, 16u << 20);
  EXPECT_EQ(map.expert_count(), 2u);
  for (const uint32_t e : {0u, 1u}) {
    const format::Segment& expert = map.segments[map.layers[1].moe.first_expert + e];
    ASSERT_EQ(expert.extents.size(), 1u);
    EXPECT_EQ(expert.extents[0].bytes, 17'547'264u);
  }
  ASSERT_EQ(map.embedding->bytes, 2'348'810'240u);

  // A row that lies across byte 2^32 of the file, and the last one.
  constexpr uint64_t kRowBytes = 7168 * 2, kLine = uint64_t{1} << 32;
  const std::string path = checkpoint.files()[map.embedding->shard.value].path.string();
  const auto across = static_cast<int32_t>((kLine - map.embedding->offset) / kRowBytes);
  const TokenId tokens[] = {{across}, {163839}};
  std::string rows;
  std::mt19937 random(1);
  for (size_t i = 0; i < std::size(tokens) * kRowBytes; ++i) rows += static_cast<char>(random());
  {
    std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
    for (size_t i = 0; i < std::size(tokens); ++i) {
      out.seekp(static_cast<std::streamoff>(map.embedding->offset +
                                            static_cast<uint64_t>(tokens[i].value) * kRowBytes));
      out.write(rows.data() + i * kRowBytes, kRowBytes);
    }
  }
  EmbeddingTable table(checkpoint, *map.embedding);
  std::vector<std::byte> read(rows.size());
  table.read(tokens, read);
  EXPECT_EQ(std::memcmp(read.data(), rows.data(), rows.size()), 0);

  // The same through the drives, which read whole blocks.
  const uint64_t row_begin = map.embedding->offset + static_cast<uint64_t>(across) * kRowBytes;
  const uint64_t begin = row_begin / io::kBlockBytes * io::kBlockBytes;
  const uint64_t bytes = round_up(row_begin + kRowBytes, io::kBlockBytes) - begin;
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(io::kBlockBytes, bytes)), &std::free);
  io::PreadDrives drives({path}, {.threads = 1});
  drives.submit(std::array<io::Read, 1>{{{{1}, {0}, begin, {memory.get(), bytes}}}});
  io::Completion done[1];
  while (drives.wait(done, std::chrono::seconds(10)) == 0) {
  }
  EXPECT_EQ(done[0].status, io::ReadStatus::kOk);
  EXPECT_EQ(std::memcmp(memory.get() + (row_begin - begin), rows.data(), kRowBytes), 0);
}

}  // namespace
}  // namespace sluice::model
