#include "format/storage.h"

#include "base/check.h"
#include "base/error.h"
#include "format/attempt.h"
#include "format/pack_reader.h"
#include "io/input_file.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;

/// Finds segments by what they hold.
class SegmentFinder {
 public:
  explicit SegmentFinder(std::span<const Segment> segments) : segments_(segments) {
    for (uint32_t s = 0; s < segments.size(); ++s) by_place_.push_back({s});
    std::ranges::sort(by_place_, {}, [&](SegmentId id) { return place(segments_[id.value]); });
  }

  /// Nothing unless a segment has the same extents at the same places of its memory.
  [[nodiscard]] std::optional<SegmentId> find(const Segment& wanted) const {
    const auto at = std::ranges::lower_bound(
        by_place_, place(wanted), {}, [&](SegmentId id) { return place(segments_[id.value]); });
    if (at == by_place_.end()) return std::nullopt;
    const Segment& found = segments_[at->value];
    const bool same = found.kind == wanted.kind && found.memory_bytes == wanted.memory_bytes &&
                      std::ranges::equal(found.extents, wanted.extents, same_extent);
    return same ? std::optional(*at) : std::nullopt;
  }

 private:
  static std::pair<ShardId, uint64_t> place(const Segment& segment) {
    return {segment.extents.front().shard, segment.extents.front().offset};
  }
  static bool same_extent(const Extent& a, const Extent& b) {
    return std::tie(a.shard, a.offset, a.bytes, a.memory_offset) ==
           std::tie(b.shard, b.offset, b.bytes, b.memory_offset);
  }

  const std::span<const Segment> segments_;
  std::vector<SegmentId> by_place_;
};

PackedPiece packed_piece(const StoredPiece& piece, FileId file, SegmentId segment) {
  return {.segment = segment,
          .memory_block = piece.memory_block,
          .blocks = piece.blocks,
          .file = file,
          .codec = piece.codec,
          .stored_bytes = piece.stored_bytes,
          .offset = piece.offset,
          .checksum = piece.checksum};
}

}  // namespace

Storage::Storage(StorageOptions options) : options_(std::move(options)) {
  for (const std::string& name : options_.shards) shards_.push_back({.name = name, .copies = {}});
  ranges_.resize(shards_.size());
  check_manifest();
  volumes_ = find_volumes(options_.places, options_.manifest);
  const std::vector<Copy> copies = find_copies();
  set_sizes(copies);
  for (uint32_t v = 0; v < volumes_.size(); ++v) {
    if (!volumes_[v].present()) {
      notes_.push_back(
          fmt::format("{}, is missing: {}", describe(volumes_[v]), volumes_[v].trouble));
      continue;
    }
    add_copies(copies, v);
    add_packs(v);
  }
  index_ranges();
  require_files();
}

void Storage::check_manifest() const {
  if (!options_.manifest) return;
  if (std::ranges::equal(options_.manifest->shards, options_.shards, {}, &ManifestShard::name)) {
    return;
  }
  throw Error(ErrorCode::kCorrupt,
              "{}: names other shards than the index beside it; one of the two files is of another "
              "checkpoint: fetch the index anew",
              (options_.places.folder / kManifestName).string());
}

std::vector<Storage::Copy> Storage::find_copies() const {
  std::vector<Copy> copies;
  for (uint32_t v = 0; v < volumes_.size(); ++v) {
    if (!volumes_[v].present()) continue;
    const size_t before = copies.size();
    for (uint16_t s = 0; s < shards_.size(); ++s) {
      std::error_code error;
      Copy copy{v, {s}, volumes_[v].folder / shards_[s].name, 0};
      copy.bytes = fs::file_size(copy.path, error);
      if (!error) copies.push_back(std::move(copy));
    }
    if (v == 0 || volumes_[v].id || copies.size() > before) continue;
    throw Error(ErrorCode::kNotFound,
                "--volume {}: has neither packs nor a shard of {}; leave it out, or name the "
                "folder that has them",
                volumes_[v].folder.string(), options_.places.folder.string());
  }
  return copies;
}

// Without a manifest the longest copy is the complete one.
void Storage::set_sizes(std::span<const Copy> copies) {
  for (size_t s = 0; options_.manifest && s < shards_.size(); ++s) {
    shards_[s].bytes = options_.manifest->shards[s].bytes;
  }
  for (const Copy& copy : copies) {
    uint64_t& bytes = shards_[copy.shard.value].bytes;
    if (!options_.manifest) bytes = std::max(bytes, copy.bytes);
    if (copy.bytes <= bytes) continue;
    throw Error(
        ErrorCode::kCorrupt,
        "{}: has {} bytes, but {} says that the shard has {}; delete this copy, or fetch it "
        "anew",
        copy.path.string(), copy.bytes, (options_.places.folder / kManifestName).string(), bytes);
  }
}

void Storage::add_copies(std::span<const Copy> copies, uint32_t volume) {
  for (const Copy& copy : copies) {
    if (copy.volume != volume) continue;
    StoredShard& shard = shards_[copy.shard.value];
    if (copy.bytes < shard.bytes) {
      notes_.push_back(fmt::format("{}: has {} of {} bytes and is left out until it is complete",
                                   copy.path.string(), copy.bytes, shard.bytes));
      continue;
    }
    shard.copies.push_back(add_file({copy.path, volume, copy.bytes}));
    ++volumes_[volume].shards;
  }
}

FileId Storage::add_file(StoredFile file) {
  if (files_.size() > UINT16_MAX) {
    throw Error(ErrorCode::kUnsupported,
                "{}: has more than {} files in all volumes together; leave a volume out",
                options_.places.folder.string(), UINT16_MAX + 1);
  }
  volumes_[file.volume].bytes += file.bytes;
  files_.push_back(std::move(file));
  return {static_cast<uint16_t>(files_.size() - 1)};
}

void Storage::add_packs(uint32_t volume) {
  if (!options_.manifest || !volumes_[volume].id) return;
  for (const ManifestPack& listed : options_.manifest->packs) {
    if (listed.volume == *volumes_[volume].id) add_pack(listed, volume);
  }
}

void Storage::add_pack(const ManifestPack& listed, uint32_t volume) {
  const fs::path path = volumes_[volume].folder / listed.file;
  std::string trouble;
  const std::optional<Error> error = attempt([&] {
    Pack pack = read_pack(path.string());
    trouble = trouble_of(pack, listed);
    if (!trouble.empty()) return;
    packs_.push_back({add_file({path, volume, listed.bytes}), std::move(pack.segments)});
    ++volumes_[volume].packs;
  });
  if (error) {
    notes_.push_back(fmt::format("{}; this pack is left out", error->what()));
  } else if (!trouble.empty()) {
    notes_.push_back(fmt::format("{}: {}; this pack is left out", path.string(), trouble));
  }
}

std::string Storage::trouble_of(const Pack& pack, const ManifestPack& listed) const {
  const PackFacts facts{options_.manifest->model, listed.volume, listed.shard};
  if (pack.header.facts != facts) return "is of another model, volume or shard than its place says";
  if (pack.header.index_checksum != listed.index_checksum) {
    return fmt::format("is not the pack that {} names", kManifestName);
  }
  for (const StoredSegment& segment : pack.segments) {
    for (const Extent& extent : segment.layout.extents) {
      if (extent.shard.value >= shards_.size() ||
          extent.offset + extent.bytes > shards_[extent.shard.value].bytes) {
        return "has bytes of a place that its shard does not have";
      }
    }
  }
  return {};
}

void Storage::index_ranges() {
  for (std::vector<PackedRange>& ranges : ranges_) ranges.clear();
  for (uint32_t p = 0; p < packs_.size(); ++p) {
    for (uint32_t s = 0; s < packs_[p].segments.size(); ++s) {
      const std::vector<Extent>& extents = packs_[p].segments[s].layout.extents;
      for (uint32_t e = 0; e < extents.size(); ++e) {
        ranges_[extents[e].shard.value].push_back(
            {extents[e].offset, extents[e].offset + extents[e].bytes, p, s, e});
      }
    }
  }
  for (std::vector<PackedRange>& ranges : ranges_) {
    std::ranges::sort(ranges, {}, [](const PackedRange& r) { return std::tie(r.begin, r.pack); });
    ranges.shrink_to_fit();
  }
}

void Storage::require_files() const {
  std::vector<std::string> missing;
  for (uint16_t s = 0; s < shards_.size(); ++s) {
    if (shards_[s].copies.empty() && ranges_[s].empty()) missing.push_back(shards_[s].name);
  }
  if (missing.empty()) return;
  constexpr size_t kNamed = 5;
  const size_t count = missing.size();
  missing.resize(std::min(count, kNamed));
  throw Error(ErrorCode::kNotFound, "{}: {} of {} shards are missing: {}{}{}",
              options_.places.folder.string(), count, shards_.size(), fmt::join(missing, ", "),
              count > kNamed ? fmt::format(" and {} more", count - kNamed) : "", missing_text());
}

const fs::path& Storage::path(ShardId shard) const {
  const StoredShard& stored = shards_[shard.value];
  if (!stored.copies.empty()) return files_[stored.copies.front().value].path;
  const std::vector<PackedRange>& ranges = ranges_[shard.value];
  SLUICE_CHECK(!ranges.empty());
  return files_[packs_[ranges.front().pack].file.value].path;
}

std::string Storage::missing_text() const {
  if (notes_.empty()) return "; fetch them into the same folder";
  const bool volume = std::ranges::any_of(volumes_, [](const Volume& v) { return !v.present(); });
  return fmt::format(". {}. {}", fmt::join(notes_, ". "),
                     volume ? "Attach the missing drive and name the volume's folder with "
                              "--volume DIR"
                            : "Restore what was left out, or name another folder that has it with "
                              "--volume DIR");
}

void Storage::check_header(ShardId shard, std::span<const std::byte> header) const {
  const std::vector<FileId>& copies = shards_[shard.value].copies;
  if (copies.size() + (ranges_[shard.value].empty() ? 0 : 1) < 2) return;
  std::vector<std::byte> other(header.size());
  for (const FileId copy : copies) {
    const io::InputFile file(files_[copy.value].path.string());
    file.read(0, other);
    if (std::ranges::equal(header, other)) continue;
    throw Error(ErrorCode::kCorrupt,
                "{}: its header differs from that of another copy of this shard, in volume {}; one "
                "of them is of another checkpoint or damaged: delete it, or fetch it anew",
                file.path(), files_[copies.front().value].path.parent_path().string());
  }
}

void Storage::find(ShardId shard, uint64_t offset, std::vector<ShardSource>& out) const {
  out.clear();
  const std::vector<PackedRange>& ranges = ranges_[shard.value];
  const auto end = std::ranges::upper_bound(ranges, offset, {}, &PackedRange::begin);
  for (auto at = end; at != ranges.begin() && std::prev(at)->begin == std::prev(end)->begin;) {
    --at;
    if (offset >= at->end) continue;
    const StoredPack& pack = packs_[at->pack];
    const StoredSegment& segment = pack.segments[at->segment];
    const uint64_t memory = segment.layout.extents[at->extent].memory_offset + offset - at->begin;
    const auto next = std::ranges::upper_bound(segment.held, memory / io::kBlockBytes, {},
                                               &StoredPiece::memory_block);
    if (next == segment.held.begin()) continue;
    const StoredPiece& piece = *std::prev(next);
    const uint64_t skip = memory - piece.memory_block * io::kBlockBytes;
    if (skip >= piece.bytes()) continue;
    out.push_back({.holder = piece.holder(pack.file),
                   .piece_bytes = piece.bytes(),
                   .skip = skip,
                   .bytes = std::min(piece.bytes() - skip, at->end - offset)});
  }
  const StoredShard& stored = shards_[shard.value];
  for (const FileId copy : stored.copies) {
    out.push_back({.holder = {.file = copy, .offset = offset},
                   .bytes = stored.bytes > offset ? stored.bytes - offset : 0});
  }
}

bool Storage::has_all(ShardId shard, uint64_t offset, uint64_t bytes) const {
  std::vector<ShardSource> sources;
  for (const uint64_t end = offset + bytes; offset < end;) {
    find(shard, offset, sources);
    uint64_t most = 0;
    for (const ShardSource& source : sources) most = std::max(most, source.bytes);
    if (most == 0) return false;
    offset += most;
  }
  return true;
}

PlacementParts Storage::take_parts(std::vector<Segment> segments) {
  PlacementParts parts{.segments = std::move(segments), .shard_files = {}, .packed = {}};
  for (const StoredShard& shard : shards_) parts.shard_files.push_back(shard.copies);
  const auto streamed = [](const StoredSegment& s) { return s.layout.kind != SegmentKind::kOther; };
  size_t pieces = 0;
  for (const StoredPack& pack : packs_) {
    for (const StoredSegment& s : pack.segments) pieces += streamed(s) ? s.held.size() : 0;
  }
  if (pieces == 0) return parts;
  parts.packed.reserve(pieces);
  const SegmentFinder finder(parts.segments);
  for (StoredPack& pack : packs_) {
    for (const StoredSegment& stored : pack.segments) {
      if (!streamed(stored)) continue;
      const std::optional<SegmentId> id = finder.find(stored.layout);
      if (!id) {
        const Extent& first = stored.layout.extents.front();
        throw Error(ErrorCode::kUnsupported,
                    "{}: was made for another layout: it has a segment of {} at byte {} that this "
                    "version cuts differently; pack the checkpoint again, or leave this volume out",
                    files_[pack.file.value].path.string(), shards_[first.shard.value].name,
                    first.offset);
      }
      for (const StoredPiece& piece : stored.held) {
        parts.packed.push_back(packed_piece(piece, pack.file, *id));
      }
    }
    std::erase_if(pack.segments, streamed);
    pack.segments.shrink_to_fit();
  }
  index_ranges();
  return parts;
}

}  // namespace sluice::format
