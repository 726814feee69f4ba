// Without these tests a pack could be read as something that it is not: a wrong weight makes a
// wrong answer, and nobody would see it.
#include "format/pack.h"

#include "base/error.h"
#include "base/test_refusal.h"
#include "format/pack_reader.h"
#include "format/pack_writer.h"
#include "format/piece_decoder.h"
#include "io/test_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

using io::kBlockBytes;
using ::testing::AllOf;
using ::testing::HasSubstr;

const PackFacts kFacts{.model = {0x0123456789abcdef},
                       .volume = {{0xf0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x0f}},
                       .shard = {3}};

/// A segment, the bytes of its memory, and the pieces of it that a pack gets.
struct Source {
  Segment layout;
  Codec codec = Codec::kRaw;
  std::vector<std::byte> memory;
  std::vector<PieceCut> held;

  [[nodiscard]] std::span<const std::byte> bytes(const PieceCut& cut) const {
    return std::span(memory).subspan(cut.memory_offset(), cut.bytes());
  }
};

/// Segments of all kinds, with one or several extents of up to some blocks or some mebibytes, half
/// of them with bytes that zstd makes shorter.
std::vector<Source> random_sources(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  std::vector<Source> sources(3 + below(4));
  uint64_t offset = below(5000);
  for (Source& source : sources) {
    std::vector<FileRange> ranges;
    for (uint64_t i = 0, n = 1 + below(4); i < n; ++i) {
      ranges.push_back({{3}, offset, 1 + below(below(5) == 0 ? 3u << 20 : 20'000)});
      offset += ranges.back().bytes + below(2) * below(9000);
    }
    std::vector<uint64_t> borders;
    source.layout = lay_out_segment(static_cast<SegmentKind>(below(3)), ranges, borders);
    source.codec = static_cast<Codec>(below(2));
    source.memory.resize(source.layout.memory_bytes);
    const uint64_t values = below(2) == 0 ? 256 : 3;
    for (std::byte& byte : source.memory) byte = static_cast<std::byte>(below(values));
    const std::vector<PieceCut> cuts = cut_for_pack(source.layout, borders);
    std::ranges::copy_if(cuts, std::back_inserter(source.held),
                         [&](const PieceCut&) { return below(3) != 0; });
    if (source.held.empty()) source.held.push_back(cuts[below(cuts.size())]);
  }
  return sources;
}

void add(PackWriter& writer, const std::vector<Source>& sources) {
  for (const Source& source : sources) {
    writer.begin_segment(source.layout, source.codec, source.held);
    for (const PieceCut& cut : source.held) writer.add_piece(source.bytes(cut));
  }
}

PackResult write_pack(const std::string& path, const std::vector<Source>& sources) {
  PackWriter writer(path, kFacts);
  add(writer, sources);
  return writer.finish();
}

/// What is wrong with the pieces of a file, one text for each of them.
std::vector<std::string> piece_troubles(const std::string& path) {
  std::vector<std::string> troubles;
  check_pieces(path, read_pack(path),
               [&](const StoredSegment&, const StoredPiece&, std::string_view trouble) {
                 troubles.emplace_back(trouble);
               });
  return troubles;
}

void overwrite(const std::string& path, uint64_t offset, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file << bytes;
}

void expect_same(const StoredSegment& read, const Source& source, const std::string& file) {
  EXPECT_EQ(read.layout.kind, source.layout.kind);
  EXPECT_EQ(read.layout.memory_bytes, source.layout.memory_bytes);
  EXPECT_EQ(read.layout.extents, source.layout.extents);
  EXPECT_EQ(read.codec, source.codec);
  ASSERT_EQ(read.held.size(), source.held.size());
  PieceDecoder decoder;
  for (size_t i = 0; i < read.held.size(); ++i) {
    const StoredPiece& piece = read.held[i];
    EXPECT_EQ((PieceCut{piece.memory_block, piece.blocks}), source.held[i]);
    EXPECT_EQ(piece.codec == Codec::kRaw, piece.stored_bytes == piece.bytes());
    std::vector<std::byte> memory(piece.bytes());
    std::memcpy(memory.data(), file.data() + piece.offset, piece.stored_bytes);
    EXPECT_EQ(decoder.accept(piece.holder(), memory), PieceVerdict::kGood);
    EXPECT_TRUE(std::ranges::equal(memory, source.bytes(source.held[i])));
  }
}

TEST(Pack, ComesBackAsItWas) {
  const io::TestFolder folder;
  const std::string path = folder.path() / "a.slpack";
  uint64_t encoded = 0;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const std::vector<Source> sources = random_sources(seed);
    const PackResult result = write_pack(path, sources);
    const std::string file = io::contents(path);
    EXPECT_EQ(file.size(), result.bytes);
    const Pack pack = read_pack(path);
    EXPECT_EQ(pack.header.facts, kFacts);
    EXPECT_EQ(pack.header.index_checksum, result.index_checksum);
    ASSERT_EQ(pack.segments.size(), sources.size());
    for (size_t i = 0; i < sources.size(); ++i) expect_same(pack.segments[i], sources[i], file);
    encoded += result.piece_bytes - result.stored_bytes;
  }
  EXPECT_EQ(encoded > 0, has_zstd());
}

/// Header and index of a pack, without the pieces between them.
struct Ends {
  PackHeader header;
  std::vector<StoredSegment> segments;

  /// Makes counts and checksums right again after a change.
  void seal() {
    const std::vector<std::byte> index = encode_pack_index(segments);
    header.segments = static_cast<uint32_t>(segments.size());
    header.extents = header.pieces = 0;
    for (const StoredSegment& segment : segments) {
      header.extents += static_cast<uint32_t>(segment.layout.extents.size());
      header.pieces += static_cast<uint32_t>(segment.held.size());
    }
    header.index_bytes = index.size();
    header.index_checksum = piece_checksum(index);
  }
  [[nodiscard]] uint64_t file_bytes() const { return header.index_offset + header.index_bytes; }
};

Pack parse(std::span<const std::byte> block, std::span<const std::byte> index,
           uint64_t file_bytes) {
  const PackHeader header = parse_pack_header(block, file_bytes, "a.slpack");
  return parse_pack(header, index, "a.slpack");
}

/// An expert of two extents, of which the pack has three pieces, and a small panel.
Ends sample_ends() {
  Ends ends;
  ends.header.facts = kFacts;
  ends.header.required_features = kPackHasZstd;
  std::vector<uint64_t> place;
  ends.segments = {{.layout = lay_out_segment(SegmentKind::kExpert,
                                              {{{3}, 5000, 20'000}, {{3}, 100'000, 40'000}}, place),
                    .codec = Codec::kZstd,
                    .held = {{0, 2, Codec::kRaw, 8192, 65'536, 11},
                             {2, 3, Codec::kZstd, 9000, 73'728, 12},
                             {7, 4, Codec::kZstd, 1, 86'016, 13}}},
                   {.layout = lay_out_segment(SegmentKind::kSpine, {{{3}, 40'000, 3000}}, place),
                    .codec = Codec::kRaw,
                    .held = {{0, 1, Codec::kRaw, 4096, 90'112, 14}}}};
  ends.header.index_offset = 94'208;
  ends.seal();
  return ends;
}

TEST(Pack, EveryChangedByteOfHeaderAndIndexIsRefused) {
  if (!has_zstd()) GTEST_SKIP() << "built without zstd";
  const Ends ends = sample_ends();
  auto block = encode_pack_header(ends.header);
  std::vector<std::byte> index = encode_pack_index(ends.segments);
  EXPECT_EQ(parse(block, index, ends.file_bytes()).segments.size(), 2u);
  const auto flip_each = [&](std::span<std::byte> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      const std::byte was = std::exchange(bytes[i], bytes[i] ^ std::byte{uint8_t(1u << i % 8)});
      EXPECT_THROW((void)parse(block, index, ends.file_bytes()), Error) << i;
      bytes[i] = was;
    }
  };
  flip_each(block);
  flip_each(index);
}

TEST(Pack, ACutFileIsRefused) {
  const io::TestFolder folder;
  const std::string path = folder.path() / "a.slpack";
  write_pack(path, random_sources(1));
  const PackHeader header = read_pack(path).header;
  const uint64_t all = header.index_offset + header.index_bytes;
  for (const uint64_t bytes : {all - 1, all - sizeof(uint64_t), header.index_offset + 1,
                               header.index_offset, header.index_offset - 1, kPackHeaderBytes + 1,
                               kPackHeaderBytes, kPackHeaderBytes - 1, uint64_t{1}, uint64_t{0}}) {
    std::filesystem::resize_file(path, bytes);
    EXPECT_THAT(refusal([&] { (void)read_pack(path); }),
                AllOf(HasSubstr(path), HasSubstr("pack this shard again")))
        << bytes;
  }
}

TEST(Pack, HeadersThatContradictThemselvesNameTheField) {
  struct Case {
    std::function<void(PackHeader&)> change;
    std::string named;
  };
  const std::vector<Case> cases = {
      {[](PackHeader& h) { h.required_features |= 4; }, "required_features asks for 0x4"},
      {[](PackHeader& h) { h.alignment = 0; }, "alignment is not"},
      {[](PackHeader& h) { h.alignment = 2048; }, "alignment is not"},
      {[](PackHeader& h) { h.alignment = 12'288; }, "alignment is not"},
      {[](PackHeader& h) { h.segments += 3; }, "index_bytes is not"},
      {[](PackHeader& h) { h.pieces = UINT32_MAX; }, "index_bytes is not"},
      {[](PackHeader& h) { h.index_offset = 0; }, "index_offset is not"},
      {[](PackHeader& h) { h.index_offset += 1; }, "index_offset is not"},
      {[](PackHeader& h) { h.index_offset += kBlockBytes; }, "do not end at the end of the file"},
      {[](PackHeader& h) { h.index_offset = uint64_t{0} - kBlockBytes; }, "do not end at"},
  };
  const Ends good = sample_ends();
  for (const Case& c : cases) {
    Ends ends = good;
    ends.header.required_features = 0;
    c.change(ends.header);
    const auto block = encode_pack_header(ends.header);
    EXPECT_THAT(refusal([&] { (void)parse_pack_header(block, good.file_bytes(), "a.slpack"); }),
                AllOf(HasSubstr("a.slpack: "), HasSubstr(c.named)));
  }
}

TEST(Pack, OptionalFeaturesMayBeUnknown) {
  Ends ends = sample_ends();
  ends.header.required_features = 0;
  ends.header.optional_features = uint64_t{1} << 63;
  EXPECT_EQ(parse_pack_header(encode_pack_header(ends.header), ends.file_bytes(), "a.slpack"),
            ends.header);
}

TEST(Pack, IndexesThatContradictThemselvesNameTheField) {
  if (!has_zstd()) GTEST_SKIP() << "built without zstd";
  struct Case {
    std::function<void(Ends&)> change;
    std::string named;
  };
  const auto extent = [](Ends& e, size_t i) -> Extent& { return e.segments[0].layout.extents[i]; };
  const auto piece = [](Ends& e, size_t i) -> StoredPiece& { return e.segments[0].held[i]; };
  const std::vector<Case> cases = {
      {[](Ends& e) { e.segments[0].layout.kind = SegmentKind{3}; }, "an unknown kind"},
      {[](Ends& e) { e.segments[0].codec = Codec{2}; }, "an unknown codec"},
      {[](Ends& e) { e.segments[0].layout.extents.clear(); }, "no extents"},
      {[](Ends& e) { e.segments[0].held.clear(); }, "no pieces"},
      {[](Ends& e) { e.segments[0].layout.memory_bytes -= kBlockBytes; }, "beyond its memory"},
      {[&](Ends& e) { extent(e, 0).bytes = 0; }, "bytes or offset cannot be"},
      {[&](Ends& e) { extent(e, 0).bytes = UINT64_MAX; }, "bytes or offset cannot be"},
      {[&](Ends& e) { extent(e, 0).offset = UINT64_MAX; }, "bytes or offset cannot be"},
      {[&](Ends& e) { extent(e, 1).memory_offset -= 2 * kBlockBytes; }, "overlaps the one before"},
      {[&](Ends& e) { extent(e, 1).offset = 5000 + kBlockBytes; }, "belongs to two extents"},
      {[](Ends& e) { e.segments[1].layout.extents[0].offset = 5000; }, "belongs to two extents"},
      {[&](Ends& e) { piece(e, 1).memory_block = 1; }, "out of order in memory"},
      {[&](Ends& e) { piece(e, 1).blocks = 5; }, "does not lie in one extent"},
      {[&](Ends& e) { piece(e, 2).memory_block = 60; }, "does not lie in one extent"},
      {[&](Ends& e) { piece(e, 2).memory_block = UINT32_MAX; }, "does not lie in one extent"},
      {[&](Ends& e) { piece(e, 1).blocks = 0; }, "size cannot be"},
      {[&](Ends& e) { piece(e, 1).blocks = 4097; }, "size cannot be"},
      {[&](Ends& e) { piece(e, 1).stored_bytes = 0; }, "stored size cannot be"},
      {[&](Ends& e) { piece(e, 1).stored_bytes = 12'289; }, "stored size cannot be"},
      {[](Ends& e) { e.segments[1].held[0].stored_bytes = 4095; }, "raw piece"},
      {[](Ends& e) { e.header.required_features = 0; }, "does not announce"},
      {[&](Ends& e) { piece(e, 0).offset = 0; }, "out of order in the file"},
      {[&](Ends& e) { piece(e, 1).offset -= kBlockBytes; }, "out of order in the file"},
      {[](Ends& e) { e.segments[1].held[0].offset += kBlockBytes; }, "reaches into the index"},
      {[&](Ends& e) { piece(e, 0).offset -= kBlockBytes; }, "not at a multiple of 65536"},
  };
  for (const Case& c : cases) {
    Ends ends = sample_ends();
    c.change(ends);
    ends.seal();
    const auto block = encode_pack_header(ends.header);
    const std::vector<std::byte> index = encode_pack_index(ends.segments);
    EXPECT_THAT(refusal([&] { (void)parse(block, index, ends.file_bytes()); }),
                AllOf(HasSubstr("a.slpack: "), HasSubstr(c.named)));
  }
}

// Other programs read the file by docs/formats.md.
TEST(Pack, TheBytesAreThoseOfTheManual) {
  const Ends ends = sample_ends();
  const auto hex = [](std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<int>(byte));
    return text;
  };
  const auto block = encode_pack_header(ends.header);
  EXPECT_EQ(hex(std::span(block).first(88)),
            "534c55494345504b"
            "01000000"
            "00100000"  // Magic, version, header_bytes.
            "0100000000000000"
            "0000000000000000"                  // Features.
            "efcdab8967452301"                  // Model.
            "f00102030405060708090a0b0c0d0e0f"  // Volume.
            "03000000"
            "00002000"  // Shard, alignment.
            "02000000"
            "03000000"
            "04000000"
            "00000000"            // Segments, extents, pieces.
            "0070010000000000");  // index_offset
  const std::vector<std::byte> index = encode_pack_index(ends.segments);
  EXPECT_EQ(index.size(), 2 * 16 + 3 * 24 + 4 * 24u);
  EXPECT_EQ(hex(std::span(index).first(16)),
            "01010000"
            "11000000"
            "02000000"
            "03000000");
  EXPECT_EQ(hex(std::span(index).subspan(32 + 24, 24)),
            "a086010000000000"
            "409c000000000000"
            "06000000"
            "0300"
            "0000");
  EXPECT_EQ(hex(std::span(index).subspan(32 + 72 + 24, 24)),
            "02000000"
            "03000000"
            "12000000"
            "28230000"
            "0c00000000000000");
}

TEST(CheckPieces, FindsTheOneThatChanged) {
  const io::TestFolder folder;
  const std::string path = folder.path() / "a.slpack";
  write_pack(path, random_sources(2));
  const size_t pieces = piece_troubles(path).size();
  ASSERT_GE(pieces, 4u);
  EXPECT_EQ(piece_troubles(path), std::vector<std::string>(pieces));
  const StoredPiece damaged = read_pack(path).segments[1].held[0];
  const size_t before = read_pack(path).segments[0].held.size();
  const uint64_t at = damaged.offset + damaged.stored_bytes - 1;
  const std::string file = io::contents(path);
  overwrite(path, at, std::string(1, static_cast<char>(file[at] ^ 1)));
  std::vector<std::string> expected(pieces);
  expected[before] = fmt::format("bytes {} to {}: their checksum is another", damaged.offset, at);
  EXPECT_EQ(piece_troubles(path), expected);
}

TEST(PackWriter, NothingRemainsOfAPackThatWasNotFinished) {
  const io::TestFolder folder;
  {
    PackWriter writer(folder.path() / "a.slpack", kFacts);
    add(writer, random_sources(3));
    const auto there = std::filesystem::directory_iterator(folder.path());
    EXPECT_TRUE(is_unfinished_pack(there->path().filename().string())) << there->path();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(is_unfinished_pack("a.slpack"));
}

TEST(PackWriter, NoticesWhenTheDriveKeptSomethingElse) {
  const io::TestFolder folder;
  const std::string path = folder.path() / "a.slpack";
  std::vector<uint64_t> place;
  Source source{.layout = lay_out_segment(SegmentKind::kExpert, {{{3}, 0, 4u << 20}}, place),
                .memory = std::vector<std::byte>(4u << 20, std::byte{7}),
                .held = {}};
  source.held = cut_for_pack(source.layout, {});
  PackWriter writer(path, kFacts);
  add(writer, {source});
  overwrite(path + ".tmp", (2u << 20) + 5, "x");
  EXPECT_THAT(refusal([&] { (void)writer.finish(); }),
              AllOf(HasSubstr(path), HasSubstr("their checksum is another")));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(PackLayout, LargeSegmentsStartAtMultiplesOfTwoMebibytes) {
  for (const auto& [bytes, alignment] :
       std::vector<std::pair<uint64_t, uint64_t>>{{1, 4096},
                                                  {4096, 4096},
                                                  {4097, 8192},
                                                  {100'000, 131'072},
                                                  {(1u << 20) + 1, 2u << 20},
                                                  {2u << 20, 2u << 20},
                                                  {17'547'264, 2u << 20}}) {
    EXPECT_EQ(segment_alignment(bytes), alignment) << bytes;
  }
}

TEST(PackLayout, CutsAreEqualWithinExtentsAndBorders) {
  struct Case {
    std::vector<Extent> extents;
    std::vector<uint64_t> borders;
    std::vector<PieceCut> cuts;
  };
  const std::vector<Case> cases = {
      {{{{0}, 0, 1, 0}}, {}, {{0, 1}}},
      {{{{0}, 0, 1u << 20, 0}}, {}, {{0, 256}}},
      {{{{0}, 100, 1u << 20, 100}}, {}, {{0, 128}, {128, 129}}},
      {{{{0}, 0, 5u << 19, 0}}, {}, {{0, 213}, {213, 213}, {426, 214}}},
      {{{{0}, 0, 40'960, 0}}, {10'000, 14'500, 14'600, 40'960}, {{0, 2}, {2, 2}, {4, 6}}},
      {{{{0}, 0, 40'960, 0}}, {0, 2047, 38'913, 39'000}, {{0, 10}}},
      {{{{0}, 4000, 200, 4000}, {{0}, 20'000, 9000, 11'808}},
       {4000, 4200, 16'384, 20'808},
       {{0, 2}, {2, 2}, {4, 2}}},
  };
  for (const Case& c : cases) {
    const Segment segment{.kind = SegmentKind::kOther,
                          .memory_bytes = round_up(
                              c.extents.back().memory_offset + c.extents.back().bytes, kBlockBytes),
                          .extents = c.extents};
    EXPECT_EQ(cut_for_pack(segment, c.borders), c.cuts);
  }
}

TEST(PackLayout, APackIsCalledAfterItsShard) {
  EXPECT_EQ(pack_file_name("model-00001-of-000096.safetensors"), "model-00001-of-000096.slpack");
  EXPECT_EQ(pack_file_name("a.safetensors", 2), "a.2.slpack");
  for (const char* name : {"a.slpack", "a.2.slpack", "a.19.slpack"}) {
    EXPECT_TRUE(is_pack_of(name, "a.safetensors")) << name;
  }
  for (const char* name : {"b.slpack", "a..slpack", "a.x.slpack", "a.2", "a.slpack.tmp",
                           "a2.slpack", "a.2.slpack.tmp", "a.safetensors"}) {
    EXPECT_FALSE(is_pack_of(name, "a.safetensors")) << name;
  }
}

}  // namespace
}  // namespace sluice::format
