// A plan that is carried out rewrites a whole model. Without these tests it could rewrite packs
// that stay as they are, lose a piece that only one volume had, or take the packs of another plan
// for its own.
#include "model/placer.h"

#include "base/test_refusal.h"
#include "format/pack_reader.h"
#include "format/piece_decoder.h"
#include "format/shard_check.h"
#include "model/packer.h"
#include "model/placed_model.h"
#include "model/placement_moving.h"
#include "model/test_checkpoint.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::model {
namespace {

namespace fs = std::filesystem;
using format::PieceLayout;
using format::PlacementFile;
using format::PlacementState;
using format::VolumeSet;
using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kVolumes = 3;
const std::atomic<bool> kGoOn{false};

TEST(ChangedVolumes, AreThoseWithOtherPieces) {
  const struct {
    std::vector<VolumeSet> now, wanted;
    VolumeSet changed;
  } kCases[] = {{{}, {}, 0},         {{1, 2, 4}, {1, 2, 4}, 0}, {{1, 2}, {2, 1}, 3},
                {{1, 1}, {1, 3}, 2}, {{7, 4}, {5, 4}, 2},       {{0, 8}, {1, 8}, 1}};
  for (const auto& c : kCases) EXPECT_EQ(changed_volumes(c.now, c.wanted), c.changed);
}

/// A small checkpoint packed onto the first two of three folders.
class PlacerTest : public testing::Test {
 protected:
  PlacerTest() : PlacerTest(small_synthetic_shape(), {.seed = 3}, format::Codec::kRaw) {}
  PlacerTest(const format::SyntheticShape& shape, const format::SyntheticOptions& options,
             format::Codec codec) {
    format::write_synthetic_checkpoint(source_.path(), shape, options);
    PackRequest request{.source = source_.path(), .model = model_.path(), .targets = {}};
    for (size_t v = 0; v < 2; ++v) {
      request.targets.push_back({.label = label(v), .folder = folder(v), .rate = 1e9});
    }
    request.codec = codec;
    Packer(request).run({}, kGoOn);
    manifest_ = *format::read_manifest(model_.path());
  }

  static std::string label(size_t v) { return fmt::format("vol{}", v); }
  [[nodiscard]] fs::path folder(size_t v) const { return fs::canonical(folders_[v].path()); }

  /// Volumes 0 and 1 of the model, and a third one.
  [[nodiscard]] std::vector<format::VolumeId> ids() const {
    return {manifest_.volumes[0].id, manifest_.volumes[1].id, {{7, 7, 7}}};
  }
  [[nodiscard]] PieceLayout layout() const {
    const PlacedModel model(model_.path(), {});
    return held_pieces(model.layout, model.checkpoint.storage(), ids());
  }
  /// Writes a plan that gives each piece other holders.
  PlacementFile plan(
      const std::function<VolumeSet(size_t shard, size_t piece, VolumeSet)>& wanted) {
    PlacementFile file{.model = manifest_.model, .request = "a test"};
    for (uint32_t v = 0; v < kVolumes; ++v) {
      file.volumes.push_back({ids()[v], label(v), folder(v).string(), v, 1});
    }
    file.before.holders = file.after.holders = layout();
    for (size_t s = 0; s < file.after.holders.size(); ++s) {
      std::vector<VolumeSet>& holders = file.after.holders[s];
      for (size_t p = 0; p < holders.size(); ++p) holders[p] = wanted(s, p, holders[p]);
    }
    format::write_placement_file(model_.path(), file);
    return file;
  }
  void run(PlaceDirection direction) const {
    Placer({.model = model_.path(), .volumes = {}, .direction = direction}).run({}, kGoOn);
  }
  [[nodiscard]] std::string refused(PlaceDirection direction) const {
    return refusal([&] { run(direction); });
  }
  /// Every file of the three folders, with what tells changes.
  [[nodiscard]] std::map<fs::path, fs::file_time_type> files() const {
    std::map<fs::path, fs::file_time_type> out;
    for (const TestFolder& volume : folders_) {
      for (const auto& entry : fs::directory_iterator(volume.path())) {
        out[entry.path()] = entry.last_write_time();
      }
    }
    return out;
  }
  /// All shards are in packs alone, and those are good.
  void expect_good() const {
    const PlacedModel model(model_.path(), {});
    for (uint16_t s = 0; s < model.manifest.shards.size(); ++s) {
      const format::ShardCheck check =
          check_shard(model.checkpoint.storage(), {s}, format::CheckScope::kPacks, nullptr);
      EXPECT_THAT(check.troubles, testing::IsEmpty());
      EXPECT_EQ(check.sha256, model.manifest.shards[s].sha256);
    }
  }
  void flip_first_byte(const fs::path& pack) const {
    const format::Pack read = format::read_pack(pack.string());
    std::fstream file(pack, std::ios::binary | std::ios::in | std::ios::out);
    const auto at = static_cast<std::streamoff>(read.segments.front().held.front().offset);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
  }

  const TestFolder source_, model_;
  const std::array<TestFolder, kVolumes> folders_;
  format::Manifest manifest_;
};

TEST_F(PlacerTest, AppliedAndUndoneEveryPieceIsWhereItShallBe) {
  const PlacementFile file = plan([](size_t, size_t p, VolumeSet now) {
    return p % 3 == 0 ? VolumeSet{4} : p % 3 == 1 ? now | 4 : now;
  });
  EXPECT_THAT(refused(PlaceDirection::kUndo), HasSubstr("nothing to undo"));
  run(PlaceDirection::kApply);
  EXPECT_EQ(layout(), file.after.holders);
  EXPECT_EQ(format::read_placement_file(model_.path())->state, PlacementState::kApplied);
  expect_good();
  EXPECT_THAT(refused(PlaceDirection::kApply), HasSubstr("has been applied"));
  run(PlaceDirection::kUndo);
  EXPECT_EQ(layout(), file.before.holders);
  expect_good();
  EXPECT_TRUE(fs::is_empty(folder(2)));
  EXPECT_EQ(format::read_manifest(model_.path())->volumes, manifest_.volumes);
}

TEST_F(PlacerTest, PacksWithTheSamePiecesAreNotTouched) {
  // Volume 0 gives one piece to volume 2, of the shard with the most pieces.
  const PieceLayout now = layout();
  const auto largest = std::ranges::max_element(now, {}, &std::vector<VolumeSet>::size);
  const auto shard = static_cast<size_t>(largest - now.begin());
  const auto piece =
      static_cast<size_t>(std::ranges::find(*largest, VolumeSet{1}) - largest->begin());
  plan([&](size_t s, size_t p, VolumeSet held) {
    return s == shard && p == piece ? VolumeSet{4} : held;
  });
  const auto before = files();
  run(PlaceDirection::kApply);
  const auto after = files();
  const std::string stem = fs::path(manifest_.shards[shard].name).stem().string();
  for (const auto& [path, time] : before) {
    const bool moved = path == folders_[0].path() / (stem + ".slpack");
    EXPECT_EQ(after.contains(path), !moved) << path;
    if (!moved) {
      EXPECT_EQ(after.at(path), time) << path;
    }
  }
  EXPECT_TRUE(after.contains(folders_[0].path() / (stem + ".2.slpack")));
  EXPECT_TRUE(after.contains(folders_[2].path() / (stem + ".slpack")));
  EXPECT_EQ(after.size(), before.size() + 2);  // That pack, and the volume file beside it.
  expect_good();
}

TEST_F(PlacerTest, AVolumeThatGivesAllAwayLeavesAndComesBack) {
  const PlacementFile file =
      plan([](size_t, size_t, VolumeSet now) { return (now & 1) != 0 ? VolumeSet{4} : now; });
  run(PlaceDirection::kApply);
  EXPECT_TRUE(fs::is_empty(folder(0)));
  EXPECT_EQ(format::read_manifest(model_.path())->volumes.size(), 2u);
  expect_good();
  run(PlaceDirection::kUndo);
  EXPECT_EQ(layout(), file.before.holders);
  expect_good();
}

TEST_F(PlacerTest, APlanThatCannotBeCarriedOutIsRefused) {
  EXPECT_THAT(refused(PlaceDirection::kApply), HasSubstr("there is no plan"));
  const PlacementFile file = plan([](size_t, size_t, VolumeSet now) { return now | 4; });
  PlacementFile other = file;
  other.model.value ^= 1;
  format::write_placement_file(model_.path(), other);
  EXPECT_THAT(refused(PlaceDirection::kApply), HasSubstr("of another model"));
  other = file;
  other.before.holders.back().push_back(1);
  other.after.holders.back().push_back(1);
  format::write_placement_file(model_.path(), other);
  EXPECT_THAT(refused(PlaceDirection::kApply), HasSubstr("other shards or pieces"));
  format::write_placement_file(model_.path(), file);
  const fs::path pack = folder(1) / manifest_.packs.back().file;
  fs::remove(pack);
  EXPECT_THAT(refused(PlaceDirection::kApply),
              AllOf(HasSubstr("are missing"), HasSubstr(pack.string())));
}

TEST_F(PlacerTest, PacksThatChangedSinceThePlanAreNoticed) {
  const PlacementFile file = plan([](size_t, size_t, VolumeSet now) { return now | 4; });
  run(PlaceDirection::kApply);
  format::write_placement_file(model_.path(), file);  // Again the plan for the packs of before.
  EXPECT_THAT(refused(PlaceDirection::kApply),
              AllOf(HasSubstr("no longer those"), HasSubstr("sluice place plan")));
}

TEST_F(PlacerTest, ADamagedPieceComesFromAnotherCopyOrIsNotLost) {
  plan([](size_t, size_t, VolumeSet) { return VolumeSet{3}; });  // Both have all.
  run(PlaceDirection::kApply);
  const PlacementFile file = plan([](size_t, size_t, VolumeSet) { return VolumeSet{4}; });
  const fs::path pack = folder(0) / format::read_manifest(model_.path())->packs.front().file;
  flip_first_byte(pack);
  run(PlaceDirection::kApply);
  EXPECT_EQ(layout(), file.after.holders);
  expect_good();

  // Now there is one copy.
  plan([](size_t, size_t, VolumeSet) { return VolumeSet{2}; });
  const fs::path only = folder(2) / format::read_manifest(model_.path())->packs.back().file;
  flip_first_byte(only);
  EXPECT_THAT(refused(PlaceDirection::kApply),
              AllOf(HasSubstr(only.string()), HasSubstr("checksum"), HasSubstr("pack")));
  EXPECT_TRUE(fs::exists(only));
  flip_first_byte(only);
  run(PlaceDirection::kApply);
  expect_good();
}

TEST_F(PlacerTest, AStoppedRunGoesOnInEitherDirection) {
  const PlacementFile file = plan([](size_t, size_t, VolumeSet) { return VolumeSet{4}; });
  for (const PlaceDirection then : {PlaceDirection::kUndo, PlaceDirection::kApply}) {
    {
      std::atomic<bool> stop{false};
      Placer placer({.model = model_.path(), .volumes = {}, .direction = PlaceDirection::kApply});
      const PlaceWatch watch{.written = {}, .moved = [&](const MovedShard&) { stop = true; }};
      EXPECT_THAT(refusal([&] { placer.run(watch, stop); }), HasSubstr("goes on where it was"));
    }
    EXPECT_THAT(refusal([&] { refuse_unfinished_placement(model_.path()); }),
                HasSubstr("sluice place undo"));
    EXPECT_NE(layout(), file.before.holders);
    EXPECT_NE(layout(), file.after.holders);
    expect_good();
    run(then);
    EXPECT_EQ(layout(), then == PlaceDirection::kApply ? file.after.holders : file.before.holders);
    expect_good();
  }
}

/// Of a checkpoint whose scales are long, and as short as can be when they are coded.
class CodedPlacerTest : public PlacerTest {
 protected:
  CodedPlacerTest()
      : PlacerTest(shape(), {.headers_only = true},
                   format::has_zstd() ? format::Codec::kZstd : format::Codec::kRaw) {}
  static format::SyntheticShape shape() {
    format::SyntheticShape shape = small_synthetic_shape();
    shape.expert_hidden = 512;
    shape.latent = 768;
    return shape;
  }
  [[nodiscard]] size_t coded_pieces() const {
    size_t coded = 0;
    for (const auto& [path, time] : files()) {
      if (path.extension() != ".slpack") continue;
      for (const format::StoredSegment& segment : format::read_pack(path.string()).segments) {
        coded += static_cast<size_t>(
            std::ranges::count(segment.held, format::Codec::kZstd, &format::StoredPiece::codec));
      }
    }
    return coded;
  }
};

TEST_F(CodedPlacerTest, CodedPiecesStayCodedAndNoOthersAre) {
  if (!format::has_zstd()) GTEST_SKIP() << "this build has no libzstd";
  const size_t before = coded_pieces();
  EXPECT_GT(before, 0u);
  plan([](size_t, size_t, VolumeSet) { return VolumeSet{4}; });
  run(PlaceDirection::kApply);
  EXPECT_EQ(coded_pieces(), before);
  expect_good();
}

}  // namespace
}  // namespace sluice::model
