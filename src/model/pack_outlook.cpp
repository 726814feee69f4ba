#include "model/pack_outlook.h"

#include "base/error.h"
#include "model/shard_writer.h"
#include "stream/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace sluice::model {
namespace {

using format::PieceDealer;
using stream::human_bytes;

class Planner {
 public:
  explicit Planner(const PackPlanRequest& request) : request_(request) {
    for (const ShardId shard : request.pending) {
      needs_.push_back(pack_need(request.layout, shard));
      piece_bytes_ += needs_.back().piece_bytes;
      overhead_bytes_ += needs_.back().overhead_bytes;
      shard_bytes_ += request.manifest.shards[shard.value].bytes;
    }
    for (const PackVolume& volume : request.volumes) {
      const uint32_t next = static_cast<uint32_t>(devices_.size());
      devices_.try_emplace(volume.disk.device, next);
    }
    devices_.try_emplace(request.source_device, static_cast<uint32_t>(devices_.size()));
  }

  PackPlan plan() {
    PackPlan result{.dealer = make_dealer(), .outlook = {}};
    PieceDealer dealer = result.dealer;
    PackOutlook& outlook = result.outlook;
    outlook.shards = static_cast<uint32_t>(request_.manifest.shards.size());
    outlook.shards_done = outlook.shards - static_cast<uint32_t>(request_.pending.size());
    outlook.shard_bytes = shard_bytes_;
    for (size_t v = 0; v < request_.volumes.size(); ++v) {
      const PackVolume& volume = request_.volumes[v];
      outlook.volumes.push_back({.label = volume.file.label,
                                 .folder = volume.folder,
                                 .rate = volume.rate,
                                 .room_bytes = room(v)});
    }
    check_disks(deal_all(dealer, outlook));
    warn(outlook);
    return result;
  }

 private:
  [[nodiscard]] size_t sharing(uint64_t device) const {
    return static_cast<size_t>(std::ranges::count_if(
        request_.volumes, [&](const PackVolume& v) { return v.disk.device == device; }));
  }

  /// Volumes on one disk have equal parts of what is free there.
  [[nodiscard]] uint64_t room(size_t v) const {
    const PackVolume& volume = request_.volumes[v];
    uint64_t free = volume.disk.free_bytes;
    if (request_.reclaim && volume.disk.device == request_.source_device) free += shard_bytes_;
    return std::min(volume.room_bytes(), free / sharing(volume.disk.device));
  }

  [[nodiscard]] uint64_t room_for_pieces(size_t v) const {
    return room(v) - std::min(room(v), overhead_bytes_);
  }

  PieceDealer make_dealer() const {
    if (request_.pending.empty()) {
      return PieceDealer(std::vector<double>(request_.volumes.size()),
                         std::vector<uint64_t>(request_.volumes.size()), request_.copies);
    }
    std::vector<format::VolumeRoom> rooms;
    std::vector<uint64_t> room_bytes;
    for (size_t v = 0; v < request_.volumes.size(); ++v) {
      rooms.push_back({request_.volumes[v].rate, room_for_pieces(v)});
      room_bytes.push_back(room_for_pieces(v));
    }
    std::vector<double> shares = format::pack_shares(rooms, piece_bytes_, request_.copies);
    if (shares.empty()) refuse();
    return PieceDealer(std::move(shares), std::move(room_bytes), request_.copies);
  }

  /// How the volumes fill up, shard by shard.
  format::PackSteps deal_all(PieceDealer& dealer, PackOutlook& outlook) const {
    format::PackSteps steps;
    std::vector<uint64_t> before(request_.volumes.size());
    for (size_t i = 0; i < request_.pending.size(); ++i) {
      const ShardId shard = request_.pending[i];
      for (const uint32_t index : request_.layout.of_shard(shard)) {
        for (const PackPiece& piece : request_.layout.pieces(index, shard, format::Codec::kRaw)) {
          if (dealer.deal(piece.cut.bytes()).empty()) refuse();
        }
      }
      std::vector<uint64_t>& packs = steps.pack_bytes.emplace_back();
      for (size_t v = 0; v < before.size(); ++v) {
        const uint64_t got = dealer.dealt()[v] - std::exchange(before[v], dealer.dealt()[v]);
        packs.push_back(got == 0 ? 0 : got + needs_[i].overhead_bytes);
        outlook.volumes[v].bytes += packs.back();
        outlook.volumes[v].packs += got > 0 ? 1 : 0;
      }
      std::vector<uint64_t>& freed = steps.freed_bytes.emplace_back(devices_.size());
      if (!request_.reclaim) continue;
      freed[devices_.at(request_.source_device)] = request_.manifest.shards[shard.value].bytes;
    }
    return steps;
  }

  void check_disks(format::PackSteps steps) const {
    steps.free_bytes.resize(devices_.size());
    for (const PackVolume& volume : request_.volumes) {
      steps.device.push_back(devices_.at(volume.disk.device));
      uint64_t& free = steps.free_bytes[steps.device.back()];
      free = std::max(free, volume.disk.free_bytes);
    }
    const std::vector<uint64_t> missing = format::missing_bytes(steps);
    std::string lines;
    for (const PackVolume& volume : request_.volumes) {
      const uint64_t bytes = missing[devices_.at(volume.disk.device)];
      if (bytes == 0) continue;
      lines += fmt::format("\n  {} ({}): {} are missing on its disk", volume.file.label,
                           volume.folder.string(), human_bytes(bytes));
    }
    if (lines.empty()) return;
    throw Error(ErrorCode::kIo,
                "a shard and its packs do not fit the disk at the same time; make room there, or "
                "give it less with --to NAME=DIR:BYTES{}",
                lines);
  }

  [[noreturn]] void refuse() const {
    uint64_t rooms = 0;
    std::string lines;
    const uint64_t needed =
        request_.copies * piece_bytes_ + request_.volumes.size() * overhead_bytes_;
    double rates = 0.0;
    for (const PackVolume& volume : request_.volumes) rates += volume.rate;
    for (size_t v = 0; v < request_.volumes.size(); ++v) {
      const PackVolume& volume = request_.volumes[v];
      const double part =
          rates > 0.0 ? volume.rate / rates : 1.0 / static_cast<double>(request_.volumes.size());
      const auto wanted = std::min(piece_bytes_ + overhead_bytes_,
                                   static_cast<uint64_t>(part * static_cast<double>(needed)));
      lines +=
          fmt::format("\n  {} ({}): room for {}, by its rate it would get {}", volume.file.label,
                      volume.folder.string(), human_bytes(room(v)), human_bytes(wanted));
      if (wanted > room(v)) {
        lines += fmt::format(": {} are missing", human_bytes(wanted - room(v)));
      }
      rooms += std::min(room(v), piece_bytes_ + overhead_bytes_);
    }
    throw Error(
        ErrorCode::kIo,
        "the packs take up to {}, but the volumes have room for {}; make room, raise BYTES, "
        "or add a volume with another --to{}",
        human_bytes(needed), human_bytes(rooms), lines);
  }

  void warn(PackOutlook& outlook) const {
    for (const auto& [device, number] : devices_) {
      std::vector<std::string> names;
      for (const PackVolume& volume : request_.volumes) {
        if (volume.disk.device == device) names.push_back(volume.file.label);
      }
      if (names.size() < 2) continue;
      outlook.warnings.push_back(fmt::format(
          "{} are on one device: together they are read no faster than one of them, and "
          "are lost together",
          fmt::join(names, ", ")));
    }
    for (const PackOutlook::VolumeLine& volume : outlook.volumes) {
      if (volume.packs > 0 || request_.pending.empty()) continue;
      outlook.warnings.push_back(fmt::format(
          "{} gets nothing: it has no room, or no rate could be measured", volume.label));
    }
  }

  const PackPlanRequest& request_;
  std::vector<PackNeed> needs_;  // By pending shard.
  uint64_t piece_bytes_ = 0, overhead_bytes_ = 0, shard_bytes_ = 0;
  std::map<uint64_t, uint32_t> devices_;  // To a number from 0.
};

}  // namespace

PackPlan plan_packs(const PackPlanRequest& request) { return Planner(request).plan(); }

}  // namespace sluice::model
