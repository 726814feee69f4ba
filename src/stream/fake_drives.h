#pragma once
#include "base/check.h"
#include "format/segment.h"
#include "io/drive_array.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace sluice::stream {

/// For tests: drives in memory whose bytes follow a formula. Reads end in an order and at virtual
/// times that the seed decides, one or several at a time; a fault function can make any of them
/// fail. Checks that every read obeys the rules of io::Read. Memory is spoiled while a read is
/// under way, so bytes that are looked at too early are wrong.
class FakeDrives final : public io::DriveArray {
 public:
  /// What becomes of a read; kOk copies the bytes.
  using Fault = std::function<io::ReadStatus(const io::Read&)>;

  FakeDrives(std::vector<uint64_t> file_bytes, uint64_t seed)
      : file_bytes_(std::move(file_bytes)), random_(seed) {
    for (size_t d = 0; d < file_bytes_.size(); ++d) paths_.push_back("fake-" + std::to_string(d));
  }

  [[nodiscard]] static std::byte expected(DriveId drive, uint64_t offset) {
    const uint64_t mixed = (offset + 1) * 0x9E3779B97F4A7C15u + drive.value * 0xC2B2AE3D27D4EB4Fu;
    return static_cast<std::byte>(mixed >> 56);
  }

  [[nodiscard]] size_t drive_count() const override { return file_bytes_.size(); }
  [[nodiscard]] const std::string& path(DriveId drive) const override {
    return paths_[drive.value];
  }
  [[nodiscard]] bool direct(DriveId) const override { return true; }

  void submit(std::span<const io::Read> reads) override {
    const std::lock_guard lock(mutex_);
    for (const io::Read& read : reads) {
      SLUICE_CHECK(read.offset % io::kBlockBytes == 0 && read.into.size() % io::kBlockBytes == 0);
      SLUICE_CHECK(reinterpret_cast<uintptr_t>(read.into.data()) % io::kBlockBytes == 0);
      const uint64_t file = file_bytes_[read.drive.value];
      SLUICE_CHECK(read.offset + read.into.size() < file + io::kBlockBytes);
      std::ranges::fill(read.into, std::byte{0xEE});
      bytes_in_flight_ += read.into.size();
      bytes_in_flight_max_ = std::max(bytes_in_flight_max_, bytes_in_flight_);
      pending_.push_back({now_ + Nanos(1 + static_cast<int64_t>(random_() % 1000)), read});
      submitted_.push_back(read);
    }
  }

  size_t wait(std::span<io::Completion> out, Nanos timeout) override {
    std::unique_lock lock(mutex_);
    if (pending_.empty()) changed_.wait_for(lock, timeout, [&] { return woken_; });
    woken_ = false;
    const size_t most =
        std::min({out.size(), pending_.size(), 1 + static_cast<size_t>(random_() % 3)});
    for (size_t i = 0; i < most; ++i) out[i] = finish_next();
    return most;
  }

  void wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }

  [[nodiscard]] Nanos now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  void set_fault(Fault fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
  }
  [[nodiscard]] std::vector<io::Read> submitted() const {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }
  [[nodiscard]] uint64_t bytes_in_flight() const {
    const std::lock_guard lock(mutex_);
    return bytes_in_flight_;
  }
  [[nodiscard]] uint64_t bytes_in_flight_max() const {
    const std::lock_guard lock(mutex_);
    return bytes_in_flight_max_;
  }

 private:
  struct Pending {
    Nanos due{};
    io::Read read;
  };

  io::Completion finish_next() {
    const auto next = std::ranges::min_element(pending_, {}, &Pending::due);
    const io::Read read = next->read;
    now_ = std::max(now_, next->due);
    pending_.erase(next);
    bytes_in_flight_ -= read.into.size();
    const io::ReadStatus status = fault_ ? fault_(read) : io::ReadStatus::kOk;
    if (status == io::ReadStatus::kIoError) return {read.id, status, EIO};
    if (status == io::ReadStatus::kShort) return {read.id, status, 0};
    const uint64_t there =
        std::min<uint64_t>(read.into.size(), file_bytes_[read.drive.value] - read.offset);
    for (uint64_t i = 0; i < there; ++i) read.into[i] = expected(read.drive, read.offset + i);
    return {read.id, status, 0};
  }

  const std::vector<uint64_t> file_bytes_;
  std::vector<std::string> paths_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937_64 random_;
  std::vector<Pending> pending_;
  std::vector<io::Read> submitted_;
  Fault fault_;
  Nanos now_{};
  uint64_t bytes_in_flight_ = 0, bytes_in_flight_max_ = 0;
  bool woken_ = false;
};

/// For tests: segments of up to a number of blocks each, scattered over two files at odd offsets,
/// and the sizes of those files. The last extent of a file ends at its last byte.
struct FakeModel {
  std::vector<format::Segment> segments;
  std::vector<uint64_t> file_bytes{0, 0};
  uint64_t gap = 0;  ///< Least bytes between segments; under a block, neighbours share blocks.

  /// Adds `count` segments of `extents` extents of `extent_bytes` bytes.
  void add(format::SegmentKind kind, size_t count, uint64_t extent_bytes, size_t extents = 1) {
    for (size_t i = 0; i < count; ++i) {
      std::vector<format::FileRange> ranges;
      for (size_t e = 0; e < extents; ++e) {
        const auto drive = static_cast<uint16_t>((segments.size() + e) % file_bytes.size());
        uint64_t& end = file_bytes[drive];
        end += gap + 1 + segments.size() * 13 % 5000;
        ranges.push_back({{drive}, end, extent_bytes});
        end += extent_bytes;
      }
      std::vector<uint64_t> place;
      segments.push_back(format::lay_out_segment(kind, ranges, place));
    }
  }

  [[nodiscard]] uint64_t largest() const {
    uint64_t bytes = 0;
    for (const format::Segment& s : segments) bytes = std::max(bytes, s.memory_bytes);
    return bytes;
  }
};

/// Whether `bytes` hold the segment.
[[nodiscard]] inline bool holds(const format::Segment& segment, std::span<const std::byte> bytes) {
  if (bytes.size() != segment.memory_bytes) return false;
  for (const format::Extent& extent : segment.extents) {
    for (uint64_t i = 0; i < extent.bytes; ++i) {
      if (bytes[extent.memory_offset + i] !=
          FakeDrives::expected(extent.drive, extent.offset + i)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace sluice::stream
