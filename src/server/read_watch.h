#pragma once
#include "base/types.h"
#include "server/latency_buckets.h"
#include "stream/weight_streamer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace sluice::server {

/// What a drive did, besides what a streamer counts.
struct WatchedDrive {
  LatencyBuckets latency;     ///< Of all good reads,
  LatencyBuckets recent;      ///< and of the last ten seconds'.
  uint64_t queued_bytes = 0;  ///< In flight when recent reads started, in the mean.
  uint64_t last = 0;          ///< Barriers that its read was the last of.
};

/// A layer with experts.
struct WatchedLayer {
  Nanos waiting{};  ///< For its experts.
  uint64_t hits = 0, misses = 0;
  std::optional<DriveId> last_drive{};  ///< Of its latest barrier that waited for reads.
};

struct WatchedReads {
  std::vector<WatchedDrive> drives;
  std::vector<WatchedLayer> layers;
  Nanos waiting_spine{};
};

/// Sums what a streamer tells of: 12 KiB for each drive and 56 bytes for each layer, however much
/// that is. A barrier is a request for experts of which something was read because of it.
class ReadWatch {
 public:
  struct Layout {
    size_t drives = 0, layers = 0;  ///< Layers with experts.
    SegmentId first_expert{};       ///< All experts follow, layer by layer.
    uint32_t experts = 0;           ///< Of a layer.
  };

  /// What was told before is not counted.
  void begin(const Layout& layout);
  /// Allocates nothing and waits for nothing but a copy that another thread takes. Any thread.
  void take(const stream::StreamerEvent& event);
  /// `now`: by the clock of the drives. Any thread.
  [[nodiscard]] WatchedReads watched(Nanos now) const;

 private:
  static constexpr Nanos kWindow = std::chrono::seconds(2);
  static constexpr size_t kWindows = 6;  // The one under way and ten seconds.

  struct Window {
    int64_t number = -1;
    LatencyBuckets latency;
    uint64_t queued_bytes = 0;
  };
  struct Drive {
    LatencyBuckets latency;
    std::array<Window, kWindows> windows;
    uint64_t last = 0;
  };
  /// The reads of one request.
  struct Barrier {
    uint64_t round = 0;  // 0: none yet.
    DriveId drive{};     // Of the read that ended last.
    Nanos end{};
  };

  void add(const stream::ReadRecord& record);
  void add(const stream::RequestRecord& record);
  void add(const stream::WaitRecord& record);
  void add(const stream::WasteRecord&) {}  // The streamer counts it.
  [[nodiscard]] std::optional<size_t> layer_of(SegmentId segment) const;
  [[nodiscard]] static WatchedDrive watched(const Drive& drive, Nanos now);

  mutable std::mutex mutex_;  // Guards everything below.
  Layout layout_;
  std::vector<Drive> drives_;
  std::vector<WatchedLayer> layers_;
  Nanos waiting_spine_{};
  Barrier barrier_;
};

}  // namespace sluice::server
