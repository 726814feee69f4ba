// Bytes of a model may lie in shards, in packs, on several drives and twice. Without these tests
// one of the many layouts could read the wrong ones, or a drive that is missing could be taken for
// a model that is damaged.
#include "format/storage.h"

#include "base/error.h"
#include "format/pack_reader.h"
#include "format/storage_reader.h"
#include "format/test_packs.h"

#include <algorithm>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;
using io::TestFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kVolumes = 3;
constexpr ModelId kModel{77};
constexpr SegmentId kSpine{0}, kExpert{1};

// The layouts.
std::vector<uint32_t> all_on_one(uint32_t, uint32_t) { return {0}; }
std::vector<uint32_t> everywhere(uint32_t, uint32_t) { return {0, 1, 2}; }
std::vector<uint32_t> striped(uint32_t segment, uint32_t piece) {
  return {(segment + piece) % uint32_t{kVolumes}};
}
std::vector<uint32_t> twice(uint32_t segment, uint32_t piece) {
  return {(segment + piece) % 3, (segment + piece + 1) % 3};
}
std::vector<uint32_t> nothing(uint32_t, uint32_t) { return {}; }

/// A model of two shards with a spine panel, an expert that lies in two ranges, and other bytes.
class StorageTest : public testing::Test {
 protected:
  StorageTest() {
    for (const auto& [name, bytes] : {std::pair{"a", 50'000}, std::pair{"b", 21'000}}) {
      shards_.push_back(fmt::format("{}.safetensors", name));
      contents_.push_back(
          io::contents(model_.write(shards_.back(), bytes, static_cast<uint32_t>(bytes))));
    }
    add(SegmentKind::kSpine, {{{0}, 300, 17'000}});
    add(SegmentKind::kExpert, {{{0}, 17'300, 9'000}, {{0}, 30'000, 20'000}});
    add(SegmentKind::kOther, {{{0}, 0, 300}});
    add(SegmentKind::kOther, {{{0}, 26'300, 3'700}});
    add(SegmentKind::kOther, {{{1}, 0, 21'000}});
  }

  void add(SegmentKind kind, const std::vector<FileRange>& ranges) {
    std::vector<uint64_t> places;
    segments_.push_back(lay_out_segment(kind, ranges, places));
  }

  [[nodiscard]] fs::path volume(size_t v) const { return volumes_[v].path(); }
  [[nodiscard]] std::vector<Segment> streamed() const { return {segments_[0], segments_[1]}; }

  void pack(const Deal& deal) {
    TestPacker packer({.model = model_.path(),
                       .volumes = {volume(0), volume(1), volume(2)},
                       .id = kModel,
                       .shards = shards_,
                       .segments = segments_});
    manifest_ = packer.write(deal);
  }
  /// What --reclaim does.
  void delete_shards() const {
    for (const std::string& shard : shards_) fs::remove(model_.path() / shard);
  }
  /// What pulling a drive out does.
  void lose(size_t v) const {
    for (const auto& entry : fs::directory_iterator(volume(v))) fs::remove_all(entry.path());
  }
  void copy_shard(const std::string& name, const fs::path& to) const {
    fs::copy_file(model_.path() / name, to / name, fs::copy_options::overwrite_existing);
  }
  [[nodiscard]] fs::path pack_path(size_t v, size_t shard) const {
    return volume(v) / pack_file_name(shards_[shard]);
  }
  /// Flips a bit.
  static void damage(const fs::path& path, uint64_t offset) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 4));
  }

  [[nodiscard]] Storage open(std::vector<fs::path> volumes = {}) const {
    return Storage({.places = {model_.path(), std::move(volumes)},
                    .shards = shards_,
                    .manifest = read_manifest(model_.path())});
  }
  [[nodiscard]] Error refusal(const std::vector<fs::path>& volumes = {}) const {
    try {
      const Storage storage = open(volumes);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "opened";
    return {ErrorCode::kCancelled, "none"};
  }

  /// Many reads of any place and length.
  void expect_right_bytes(const Storage& storage) const {
    StorageReader reader(storage);
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
      const ShardId shard{static_cast<uint16_t>(random() % 2)};
      const std::string& content = contents_[shard.value];
      const uint64_t offset = random() % content.size();
      const uint64_t bytes = random() % (content.size() - offset) / (i % 2 == 0 ? 1 : 64) + 1;
      std::vector<std::byte> read(bytes);
      reader.read(shard, offset, read);
      ASSERT_EQ(std::memcmp(read.data(), content.data() + offset, bytes), 0)
          << bytes << " bytes at " << offset << " of shard " << shard.value;
    }
  }
  [[nodiscard]] Error failed_read(const Storage& storage) const {
    try {
      for (uint16_t s = 0; s < shards_.size(); ++s) {
        std::vector<std::byte> all(contents_[s].size());
        StorageReader(storage).read({s}, 0, all);
      }
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "read";
    return {ErrorCode::kCancelled, "none"};
  }

  const TestFolder model_;
  const TestFolder volumes_[kVolumes];
  std::vector<std::string> shards_, contents_;
  std::vector<Segment> segments_;
  Manifest manifest_;
};

TEST_F(StorageTest, EveryLayoutReadsTheSameBytes) {
  struct Case {
    const char* name;
    Deal deal;
    bool keeps_shards;
  };
  const Case cases[] = {{"in place beside a manifest", nothing, true},
                        {"all in packs of one volume", all_on_one, false},
                        {"stripes on three volumes", striped, false},
                        {"copies on three volumes", everywhere, false},
                        {"each piece on two volumes", twice, false},
                        {"packs and shards", striped, true}};
  {
    SCOPED_TRACE("in place");
    const Storage storage = open();
    expect_right_bytes(storage);
    EXPECT_EQ(storage.files().size(), 2u);
    EXPECT_EQ(storage.files()[1].path, model_.path() / shards_[1]);
  }
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    for (size_t v = 0; v < kVolumes; ++v) lose(v);
    for (const std::string& shard : shards_) {
      std::ofstream(model_.path() / shard, std::ios::binary) << contents_[&shard - shards_.data()];
    }
    pack(test.deal);
    if (!test.keeps_shards) delete_shards();
    const Storage storage = open();
    EXPECT_THAT(storage.notes(), testing::IsEmpty());
    EXPECT_TRUE(storage.has_all({0}, 0, contents_[0].size()));
    expect_right_bytes(storage);
  }
}

TEST_F(StorageTest, AShardMayLieInPacksAndAnotherInPlace) {
  pack(striped);
  fs::remove(model_.path() / shards_[0]);
  for (size_t v = 0; v < kVolumes; ++v) fs::remove(pack_path(v, 1));
  const Storage storage = open();
  EXPECT_THAT(storage.notes(), testing::SizeIs(kVolumes));
  expect_right_bytes(storage);
}

TEST_F(StorageTest, AMissingVolumeIsANoteWhileOthersHaveItsBytes) {
  pack(twice);
  delete_shards();
  lose(1);
  const Storage storage = open();
  expect_right_bytes(storage);
  EXPECT_FALSE(storage.volumes()[2].present());
  EXPECT_THAT(storage.notes(),
              ElementsAre(AllOf(HasSubstr("vol1"), HasSubstr(to_text(test_volume(1))),
                                HasSubstr(volume(1).string()), HasSubstr("missing"))));
}

TEST_F(StorageTest, AMissingVolumeThatIsNeededIsNamedWithTheRemedy) {
  pack(striped);
  delete_shards();
  lose(2);
  const Storage storage = open();
  EXPECT_FALSE(storage.has_all({0}, 0, contents_[0].size()));
  const Error error = failed_read(storage);
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("a.safetensors"), HasSubstr("vol2"),
                                  HasSubstr(to_text(test_volume(2))), HasSubstr(volume(2).string()),
                                  HasSubstr("--volume DIR")));
  for (size_t v = 0; v < kVolumes; ++v) lose(v);
  EXPECT_THAT(refusal().what(), AllOf(HasSubstr("2 of 2 shards are missing: a.safetensors"),
                                      HasSubstr("vol0"), HasSubstr("--volume DIR")));
}

TEST_F(StorageTest, AVolumeIsFoundWhereTheUserNamesIt) {
  pack(striped);
  delete_shards();
  const TestFolder elsewhere;
  fs::copy(volume(1), elsewhere.path());
  lose(1);
  const Storage storage = open({elsewhere.path()});
  EXPECT_THAT(storage.notes(), testing::IsEmpty());
  expect_right_bytes(storage);
}

TEST_F(StorageTest, ACopyOfShardsOnAnotherDriveIsUsed) {
  for (const std::string& shard : shards_) copy_shard(shard, volume(0));
  const Storage storage = open({volume(0), volume(0) / "."});
  EXPECT_EQ(storage.volumes().size(), 2u) << "one folder was taken for two";
  EXPECT_EQ(storage.shards()[0].copies.size(), 2u);
  EXPECT_EQ(storage.files()[3].path, volume(0) / shards_[1]);
  expect_right_bytes(storage);
  delete_shards();
  expect_right_bytes(storage);
}

TEST_F(StorageTest, AnUnfinishedCopyIsLeftOut) {
  copy_shard(shards_[0], volume(0));
  fs::resize_file(volume(0) / shards_[0], 4'000);
  const Storage storage = open({volume(0)});
  EXPECT_EQ(storage.shards()[0].copies.size(), 1u);
  EXPECT_THAT(storage.notes(), ElementsAre(AllOf(HasSubstr((volume(0) / shards_[0]).string()),
                                                 HasSubstr("4000 of 50000 bytes"))));
  expect_right_bytes(storage);
}

TEST_F(StorageTest, ACopyThatDiffersIsRefusedByName) {
  copy_shard(shards_[0], volume(0));
  const std::string copy = (volume(0) / shards_[0]).string();
  const auto header = std::as_bytes(std::span(contents_[0])).first(300);
  open({volume(0)}).check_header({0}, header);
  damage(copy, 299);
  const Storage storage = open({volume(0)});
  EXPECT_THROW(storage.check_header({0}, header), Error);
  try {
    storage.check_header({0}, header);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(copy), HasSubstr("delete")));
  }
  pack(nothing);
  fs::resize_file(copy, 60'000);
  EXPECT_THAT(refusal({volume(0)}).what(), AllOf(HasSubstr(copy), HasSubstr("60000 bytes"),
                                                 HasSubstr("has 50000"), HasSubstr("anew")));
}

TEST_F(StorageTest, AFlippedBitIsReadFromAnotherCopy) {
  pack(twice);
  delete_shards();
  const auto damage_first_piece = [&](size_t v) {
    const Pack held = read_pack(pack_path(v, 1).string());
    damage(pack_path(v, 1), held.segments[0].held[0].offset);
  };
  for (size_t v = 0; v < kVolumes; ++v) {
    damage_first_piece(v);
    expect_right_bytes(open());
    damage_first_piece(v);  // Back as it was.
  }
  damage_first_piece(1);
  damage_first_piece(2);  // Which is the same piece.
  const Error error = failed_read(open());
  EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr(pack_path(1, 1).string()), HasSubstr(pack_path(2, 1).string()),
                    HasSubstr("wrong checksum"), HasSubstr("again")));
}

TEST_F(StorageTest, APackThatCannotBeUsedIsLeftOut) {
  pack(everywhere);
  delete_shards();
  damage(pack_path(0, 0), 100);
  damage(pack_path(1, 0), fs::file_size(pack_path(1, 0)) - 9);
  const Storage storage = open();
  expect_right_bytes(storage);
  EXPECT_THAT(storage.notes(), ElementsAre(HasSubstr(pack_path(0, 0).string()),
                                           HasSubstr(pack_path(1, 0).string())));
  // A pack of another volume in its place.
  fs::copy_file(pack_path(2, 0), pack_path(0, 0), fs::copy_options::overwrite_existing);
  EXPECT_THAT(open().notes()[0], AllOf(HasSubstr(pack_path(0, 0).string()), HasSubstr("volume")));
  // One of an earlier conversion.
  manifest_.packs[0].index_checksum ^= 1;
  write_manifest(model_.path(), manifest_);
  EXPECT_THAT(open().notes().size(), 2u);
}

TEST_F(StorageTest, WrongVolumesAreRefused) {
  const TestFolder empty;
  EXPECT_THAT(refusal({empty.path()}).what(),
              AllOf(HasSubstr(empty.path().string()), HasSubstr("neither packs nor a shard")));
  EXPECT_THAT(refusal({empty.path() / "none"}).what(), HasSubstr("is not a folder"));
  write_volume_file(empty.path(), {test_volume(9), kModel, "ninth"});
  const Error no_manifest = refusal({empty.path()});
  EXPECT_EQ(no_manifest.code(), ErrorCode::kNotFound);
  EXPECT_THAT(no_manifest.what(), HasSubstr((model_.path() / kManifestName).string()));

  pack(striped);
  EXPECT_THAT(refusal({empty.path()}).what(),
              AllOf(HasSubstr("ninth"), HasSubstr(to_text(test_volume(9)))));
  write_volume_file(empty.path(), {test_volume(1), ModelId{5}, "of-another"});
  EXPECT_THAT(refusal({empty.path()}).what(),
              AllOf(HasSubstr(empty.path().string()), HasSubstr(to_text(ModelId{5}))));
  write_volume_file(empty.path(), {test_volume(1), kModel, "copy"});
  EXPECT_THAT(refusal({empty.path(), volume(1)}).what(), HasSubstr(volume(1).string()));
  // Where one was seen last, another is now.
  write_volume_file(volume(0), {test_volume(7), kModel, "seventh"});
  EXPECT_THAT(open().notes(), ElementsAre(AllOf(HasSubstr("vol0"), HasSubstr("another volume"),
                                                HasSubstr(to_text(test_volume(7))))));
}

TEST_F(StorageTest, PiecesGoToTheSegmentsTheyAreOf) {
  pack(striped);
  fs::remove(model_.path() / shards_[1]);
  Storage storage = open();
  const Placement placement(storage.take_parts(streamed()));
  EXPECT_EQ(placement.first_hole(), std::nullopt);
  std::vector<Piece> pieces;
  for (const SegmentId id : {kSpine, kExpert}) {
    placement.pieces(id, pieces);
    size_t expected = 0;
    for (const Extent& extent : segments_[id.value].extents) expected += small_cuts(extent).size();
    ASSERT_EQ(pieces.size(), expected);
    for (size_t p = 0; p < pieces.size(); ++p) {
      ASSERT_EQ(pieces[p].holder_count, 2) << "a pack and the shard";
      const StoredFile& file = storage.files()[pieces[p].holders[0].file.value];
      EXPECT_EQ(file.path, pack_path((id.value + p) % kVolumes, 0));
    }
  }
  // What the placement does not have can still be read.
  std::vector<std::byte> other(contents_[1].size());
  StorageReader(storage).read({1}, 0, other);
  EXPECT_EQ(std::memcmp(other.data(), contents_[1].data(), other.size()), 0);
}

TEST_F(StorageTest, PacksOfAnotherLayoutAreRefused) {
  pack(striped);
  std::vector<Segment> changed = streamed();
  changed[kSpine.value].extents[0].bytes -= 1;
  Storage storage = open();
  try {
    (void)storage.take_parts(changed);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("a.slpack"), HasSubstr("another layout"),
                                    HasSubstr("pack the checkpoint again")));
  }
}

TEST_F(StorageTest, AManifestOfOtherShardsIsRefused) {
  pack(striped);
  manifest_.shards[1].name = "c.safetensors";
  write_manifest(model_.path(), manifest_);
  EXPECT_THAT(refusal().what(), AllOf(HasSubstr((model_.path() / kManifestName).string()),
                                      HasSubstr("other shards")));
}

}  // namespace
}  // namespace sluice::format
