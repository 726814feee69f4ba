// The answer may not depend on where the weights lie. Without these tests a layout of packs and
// shards could bring other weights, or a drive that is missing could be noticed in the middle of an
// answer.
#include "base/digest.h"
#include "base/error.h"
#include "format/pack_reader.h"
#include "format/test_packs.h"
#include "model/loaded_model.h"
#include "model/shard_layout.h"
#include "model/test_checkpoint.h"

#include <fstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::model {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr uint32_t kVolumes = 3;

LoadOptions options(std::vector<fs::path> volumes = {}) {
  return {.volumes = std::move(volumes),
          .threads = 1,
          .memory_bytes = 256u << 20,
          .context = 32,
          .logits_of_every_row = true};
}

/// Of the logits of all rows of some tokens.
uint64_t logits_digest(LoadedModel loaded) {
  std::vector<TokenId> tokens;
  std::vector<uint32_t> rows;
  for (int32_t id = 0; id < 20; ++id) {
    tokens.push_back({id * 23 % 512});
    rows.push_back(static_cast<uint32_t>(id));
  }
  const std::unique_ptr<SequenceState> state = loaded.make_state();
  const std::vector<SequenceState*> states(tokens.size(), state.get());
  std::vector<float> logits(rows.size() * loaded.shape().vocab);
  loaded.model().forward({tokens, states, rows}, logits);
  return digest_of(0, std::as_bytes(std::span(logits)));
}

/// A small checkpoint and three folders for packs of it.
class PackedModelTest : public testing::Test {
 protected:
  PackedModelTest() {
    format::write_synthetic_checkpoint(model_.path(), small_synthetic_shape(), {.seed = 3});
    expected_ = logits_digest(load());
    const format::Checkpoint checkpoint(model_.path());
    packs_.model = model_.path();
    for (const TestFolder& volume : volumes_) packs_.volumes.push_back(volume.path());
    packs_.id = {checkpoint.digest()};
    std::vector<uint64_t> bytes;
    for (const format::StoredShard& shard : checkpoint.storage().shards()) {
      packs_.shards.push_back(shard.name);
      bytes.push_back(shard.bytes);
    }
    add_segments(checkpoint, bytes);
  }

  void add_segments(const format::Checkpoint& checkpoint, std::span<const uint64_t> bytes) {
    const ModelShape shape = parse_shape(checkpoint.config_json(), "config.json");
    const WeightMap weights(checkpoint, shape, panel_bytes_max(shape));
    const ShardLayout layout(weights, bytes);
    for (uint16_t s = 0; s < bytes.size(); ++s) {
      for (const uint32_t index : layout.of_shard({s})) {
        const format::Segment& segment = layout.segment(index);
        if (segment.extents.front().shard.value == s) packs_.segments.push_back(segment);
      }
    }
  }

  void pack(const format::Deal& deal) { format::TestPacker(packs_).write(deal); }
  void delete_shards() const {
    for (const std::string& shard : packs_.shards) fs::remove(model_.path() / shard);
  }
  [[nodiscard]] LoadedModel load(std::vector<fs::path> volumes = {}) const {
    return {model_.path(), options(std::move(volumes))};
  }
  [[nodiscard]] Error refusal() const {
    try {
      (void)load();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "opened";
    return {ErrorCode::kCancelled, "none"};
  }
  /// What pulling a drive out does.
  void lose(uint32_t volume) const {
    for (const auto& entry : fs::directory_iterator(volumes_[volume].path())) {
      fs::remove(entry.path());
    }
  }
  /// Flips a bit in each piece of bytes that are read when the model is opened, or row by row.
  void damage_other_pieces(uint32_t volume) const {
    for (const auto& entry : fs::directory_iterator(volumes_[volume].path())) {
      if (entry.path().extension() != ".slpack") continue;
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      for (const auto& segment : format::read_pack(entry.path().string()).segments) {
        if (segment.layout.kind != format::SegmentKind::kOther) continue;
        for (const format::StoredPiece& piece : segment.held) {
          file.seekg(static_cast<std::streamoff>(piece.offset));
          const int byte = file.get();
          file.seekp(static_cast<std::streamoff>(piece.offset));
          file.put(static_cast<char>(byte ^ 1));
        }
      }
    }
  }

  const TestFolder model_;
  const TestFolder volumes_[kVolumes];
  format::TestPacks packs_;
  uint64_t expected_ = 0;
};

TEST_F(PackedModelTest, EveryLayoutGivesTheSameLogits) {
  using Volumes = std::vector<uint32_t>;
  const std::pair<const char*, format::Deal> layouts[] = {
      {"one volume", [](uint32_t, uint32_t) { return Volumes{0}; }},
      {"stripes", [](uint32_t s, uint32_t p) { return Volumes{(s + p) % 3}; }},
      {"uneven stripes", [](uint32_t s, uint32_t p) { return Volumes{(s + p) % 5 / 2}; }},
      {"copies", [](uint32_t, uint32_t) { return Volumes{0, 2}; }},
      {"stripes, each twice",
       [](uint32_t s, uint32_t p) { return Volumes{(s + p) % 3, (s + p + 1) % 3}; }}};
  for (const auto& [name, deal] : layouts) {
    SCOPED_TRACE(name);
    for (uint32_t v = 0; v < kVolumes; ++v) lose(v);
    format::write_synthetic_checkpoint(model_.path(), small_synthetic_shape(),
                                       {.seed = 3, .overwrite = true});
    pack(deal);
    EXPECT_EQ(logits_digest(load()), expected_) << "packs and shards";
    fs::remove(model_.path() / packs_.shards[1]);
    EXPECT_EQ(logits_digest(load()), expected_) << "a shard is gone";
    delete_shards();
    EXPECT_EQ(logits_digest(load()), expected_) << "all shards are gone";
  }
}

TEST_F(PackedModelTest, ACopyOfTheShardsOnAnotherDriveServesToo) {
  for (const std::string& shard : packs_.shards) {
    fs::copy_file(model_.path() / shard, volumes_[0].path() / shard);
  }
  EXPECT_EQ(logits_digest(load({volumes_[0].path()})), expected_);
  delete_shards();
  EXPECT_EQ(logits_digest(load({volumes_[0].path()})), expected_);
}

TEST_F(PackedModelTest, AMissingVolumeIsNoticedBeforeTheAnswer) {
  const auto deal = [&](uint32_t s, uint32_t p) {
    // Only the first piece of each expert lies on the last volume.
    const bool expert = packs_.segments[s].kind == format::SegmentKind::kExpert;
    return std::vector<uint32_t>{expert && p == 0 ? 2u : 0u};
  };
  pack(deal);
  lose(2);
  {
    const LoadedModel loaded = load();
    EXPECT_EQ(loaded.notes().size(), 1u);
  }
  delete_shards();
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("expert 0 of layer 1"), HasSubstr("vol2"),
                    HasSubstr(to_text(format::test_volume(2))),
                    HasSubstr(volumes_[2].path().string()), HasSubstr("--volume DIR")));
  const Inspection inspection = inspect_model(model_.path(), options());
  EXPECT_TRUE(inspection.volumes[2].present());
  EXPECT_FALSE(inspection.volumes[3].present()) << "the model's folder is the first";
  EXPECT_THAT(inspection.notes.back(), HasSubstr("expert 0 of layer 1"));
}

TEST_F(PackedModelTest, AFlippedBitOfWhatIsReadRowByRowIsReadFromAnotherCopy) {
  pack([](uint32_t, uint32_t) { return std::vector<uint32_t>{0, 1}; });
  delete_shards();
  damage_other_pieces(0);
  EXPECT_EQ(logits_digest(load()), expected_);
  damage_other_pieces(1);
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(error.what(), HasSubstr("wrong checksum"));
}

TEST_F(PackedModelTest, AConfigOfAnotherModelIsRefused) {
  pack([](uint32_t, uint32_t) { return std::vector<uint32_t>{0}; });
  std::ofstream(model_.path() / "config.json", std::ios::app) << "\n";
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(error.what(), AllOf(HasSubstr((model_.path() / format::kManifestName).string()),
                                  HasSubstr(to_text(packs_.id))));
}

}  // namespace
}  // namespace sluice::model
