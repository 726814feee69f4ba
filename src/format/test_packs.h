#pragma once
#include "format/manifest.h"
#include "format/pack_writer.h"
#include "io/test_files.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// For tests: packs of any layout, without the planning of the real packer.
namespace sluice::format {

/// Which of the volumes get a piece.
using Deal = std::function<std::vector<uint32_t>(uint32_t segment, uint32_t piece)>;

struct TestPacks {
  std::filesystem::path model;                 ///< Gets the manifest; has the shards.
  std::vector<std::filesystem::path> volumes;  ///< Get the packs; volume v is called "vol<v>".
  ModelId id;
  std::vector<std::string> shards;  ///< Names of the files.
  std::vector<Segment> segments;    ///< Of all bytes that shall be packed.
};

inline VolumeId test_volume(uint32_t number) { return {{static_cast<uint8_t>(number + 1), 0xab}}; }

/// Pieces of at most two blocks, so that small segments have several.
inline std::vector<PieceCut> small_cuts(const Extent& extent) {
  const auto end = static_cast<uint32_t>(
      round_up(extent.memory_offset + extent.bytes, io::kBlockBytes) / io::kBlockBytes);
  std::vector<PieceCut> cuts;
  for (auto at = static_cast<uint32_t>(extent.memory_offset / io::kBlockBytes); at < end; at += 2) {
    cuts.push_back({at, std::min<uint32_t>(2, end - at)});
  }
  return cuts;
}

/// What a piece has in memory: the bytes of its extent, and zeros around them.
inline std::vector<std::byte> piece_of(const std::string& shard, const Extent& extent,
                                       const PieceCut& cut) {
  std::vector<std::byte> bytes(cut.bytes());
  const uint64_t first = std::max(cut.memory_offset(), extent.memory_offset);
  const uint64_t end =
      std::min(cut.memory_offset() + cut.bytes(), extent.memory_offset + extent.bytes);
  std::memcpy(bytes.data() + (first - cut.memory_offset()),
              shard.data() + extent.offset + (first - extent.memory_offset), end - first);
  return bytes;
}

/// Writes packs, volume files and the manifest. The shards stay.
class TestPacker {
 public:
  explicit TestPacker(TestPacks test) : test_(std::move(test)) {
    manifest_.model = test_.id;
    for (const std::string& name : test_.shards) {
      contents_.push_back(io::contents((test_.model / name).string()));
      manifest_.shards.push_back(
          {.name = name, .bytes = contents_.back().size(), .sha256 = {}, .sha256_origin = {}});
    }
    for (uint32_t v = 0; v < test_.volumes.size(); ++v) {
      const std::string label = fmt::format("vol{}", v);
      write_volume_file(test_.volumes[v], {test_volume(v), test_.id, label});
      manifest_.volumes.push_back({test_volume(v), label, test_.volumes[v].string()});
    }
  }

  Manifest write(const Deal& deal) {
    for (uint32_t s = 0; s < test_.segments.size(); ++s) write_segment(s, deal);
    for (const auto& [place, writer] : writers_) {
      const auto& [volume, shard] = place;
      const PackResult result = writer->finish();
      manifest_.packs.push_back({pack_file_name(test_.shards[shard.value]), test_volume(volume),
                                 shard, result.bytes, result.index_checksum});
    }
    write_manifest(test_.model, manifest_);
    return manifest_;
  }

 private:
  using Place = std::pair<uint32_t, ShardId>;  // Volume and shard of a pack.
  struct Held {
    std::vector<PieceCut> cuts;
    std::vector<std::vector<std::byte>> bytes;
  };

  void write_segment(uint32_t number, const Deal& deal) {
    const Segment& segment = test_.segments[number];
    std::map<Place, Held> held;
    uint32_t piece = 0;
    for (const Extent& extent : segment.extents) {
      for (const PieceCut& cut : small_cuts(extent)) {
        for (const uint32_t volume : deal(number, piece)) {
          Held& pack = held[{volume, extent.shard}];
          pack.cuts.push_back(cut);
          pack.bytes.push_back(piece_of(contents_[extent.shard.value], extent, cut));
        }
        ++piece;
      }
    }
    for (const auto& [place, pack] : held) {
      PackWriter& writer = writer_of(place);
      writer.begin_segment(segment, Codec::kZstd, pack.cuts);
      for (const std::vector<std::byte>& bytes : pack.bytes) writer.add_piece(bytes);
    }
  }

  PackWriter& writer_of(const Place& place) {
    std::unique_ptr<PackWriter>& writer = writers_[place];
    const auto& [volume, shard] = place;
    if (writer == nullptr) {
      writer = std::make_unique<PackWriter>(
          test_.volumes[volume] / pack_file_name(test_.shards[shard.value]),
          PackFacts{test_.id, test_volume(volume), shard});
    }
    return *writer;
  }

  const TestPacks test_;
  Manifest manifest_;
  std::vector<std::string> contents_;  // Of the shards.
  std::map<Place, std::unique_ptr<PackWriter>> writers_;
};

}  // namespace sluice::format
