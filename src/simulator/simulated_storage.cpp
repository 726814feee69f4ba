#include "simulator/simulated_storage.h"

#include "base/error.h"
#include "format/checkpoint.h"
#include "format/placement_planner.h"
#include "io/drive_array.h"
#include "model/shard_layout.h"

#include <algorithm>
#include <string>

namespace sluice::simulator {
namespace {

using format::PackedPiece;

/// The pieces of every segment as packs cut them, in the order of the segments.
std::vector<PackedPiece> cut_segments(const model::WeightMap& weights,
                                      std::span<const uint64_t> shard_bytes) {
  const model::ShardLayout layout(weights, shard_bytes);
  std::vector<PackedPiece> pieces;
  for (uint32_t s = 0; s < weights.segments.size(); ++s) {
    ShardId before{UINT16_MAX};
    for (const format::Extent& extent : weights.segments[s].extents) {
      if (extent.shard == before) continue;
      before = extent.shard;
      for (const model::PackPiece& piece : layout.pieces(s, extent.shard, format::Codec::kRaw)) {
        pieces.push_back({.segment = {s},
                          .memory_block = piece.cut.memory_block,
                          .blocks = piece.cut.blocks,
                          .file = {},
                          .stored_bytes = static_cast<uint32_t>(piece.cut.bytes())});
      }
    }
  }
  return pieces;
}

/// What a pass over every layer reads: the spine whole, and of the experts what a token uses.
std::vector<format::PlannedSegment> planned_segments(const model::WeightMap& weights,
                                                     std::span<const PackedPiece> pieces,
                                                     std::span<const double> uses) {
  std::vector<format::PlannedSegment> segments(weights.segments.size());
  for (const PackedPiece& piece : pieces) {
    segments[piece.segment.value].piece_bytes.push_back(piece.stored_bytes);
  }
  const size_t spine = weights.pass_order.size();
  for (size_t s = 0; s < segments.size(); ++s) {
    segments[s].uses = s < spine || uses.empty() ? 1 : uses[s - spine];
  }
  return segments;
}

}  // namespace

void SimulatedStorage::place(const model::WeightMap& weights, format::PlacementParts& parts) {
  std::vector<uint64_t> shard_bytes(parts.shard_files.size());
  for (const format::Segment& segment : weights.segments) {
    for (const format::Extent& extent : segment.extents) {
      uint64_t& bytes = shard_bytes[extent.shard.value];
      bytes = std::max(bytes, extent.offset + extent.bytes);
    }
  }
  const std::vector<PackedPiece> pieces = cut_segments(weights, shard_bytes);
  const std::vector<format::PlannedSegment> segments =
      planned_segments(weights, pieces, options_.uses);
  std::vector<format::PlannedDrive> drives;
  for (const SimulatedDrive& drive : options_.drives) {
    drives.push_back({drive.device.bytes_per_second, drive.room_bytes});
  }
  const format::PlacementPlan plan =
      format::plan_placement({.drives = drives, .segments = segments, .survive = options_.survive});
  if (!plan.fits) {
    throw Error(ErrorCode::kInvalidInput,
                "the drives lack room for {:.1f} GB; add a drive (--drive), give more room= or a "
                "lower --survive",
                static_cast<double>(plan.missing_bytes) / 1e9);
  }
  parts.shard_files.assign(parts.shard_files.size(), {});
  parts.packed.clear();
  stored_bytes_.assign(drives.size(), 0);
  for (size_t p = 0; p < pieces.size(); ++p) {
    for (uint16_t d = 0; d < drives.size(); ++d) {
      if ((plan.holders[p] >> d & 1) == 0) continue;
      PackedPiece& copy = parts.packed.emplace_back(pieces[p]);
      copy.file = {d};
      copy.offset = stored_bytes_[d];
      stored_bytes_[d] += copy.stored_bytes;
    }
  }
}

size_t SimulatedStorage::drive_of(const format::Volume& volume) const {
  const std::string name = volume.id ? volume.label : volume.folder.filename().string();
  const auto drive = std::ranges::find(options_.drives, name, &SimulatedDrive::name);
  if (drive != options_.drives.end()) {
    return static_cast<size_t>(drive - options_.drives.begin());
  }
  throw Error(ErrorCode::kInvalidInput,
              "--as-stored: there is no drive for the volume {} in {}; add --drive {}=GB/s", name,
              volume.folder.string(), name);
}

std::unique_ptr<io::DriveArray> SimulatedStorage::make_drives(
    std::span<const format::StoredFile> files) {
  io::SimOptions sim{.seed = options_.seed, .devices = {}, .keep_history = false};
  for (const SimulatedDrive& drive : options_.drives) sim.devices.push_back(drive.device);
  std::vector<io::SimFile> simulated;
  if (options_.as_stored) {
    const format::Checkpoint checkpoint(options_.model, options_.volumes);
    const std::span<const format::Volume> volumes = checkpoint.storage().volumes();
    for (const format::StoredFile& file : files) {
      simulated.push_back({.path = file.path.string(),
                           .device = drive_of(volumes[file.volume]),
                           .hollow_bytes = file.bytes});
    }
  }
  for (size_t d = 0; !options_.as_stored && d < options_.drives.size(); ++d) {
    simulated.push_back({.path = options_.drives[d].name + "/weights",
                         .device = d,
                         .hollow_bytes = std::max(stored_bytes_[d], io::kBlockBytes)});
  }
  auto drives = std::make_unique<io::SimDrives>(std::move(simulated), std::move(sim));
  drives_ = drives.get();
  return drives;
}

}  // namespace sluice::simulator
