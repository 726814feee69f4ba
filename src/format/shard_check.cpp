#include "format/shard_check.h"

#include "base/sha256.h"
#include "format/pack_reader.h"
#include "format/storage_reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace sluice::format {
namespace {

/// Walks through a shard in the order of its bytes.
class Walk {
 public:
  Walk(const Storage& storage, ShardId shard, CheckScope scope)
      : storage_(storage), shard_(shard), scope_(scope), in_place_(storage) {}

  /// Passes some bytes from `offset` on, and returns their number.
  uint64_t step(uint64_t offset) {
    storage_.find(shard_, offset, sources_);
    uint64_t bytes = 0;
    bool packed = false, good = false;
    for (const ShardSource& source : sources_) {
      if (source.piece_bytes == 0) continue;
      // All copies are cut alike, so each of them has the same bytes of the shard.
      packed = true;
      bytes = source.bytes;
      good = read_piece(source, !good) || good;
    }
    if (!packed && scope_ == CheckScope::kAllFiles && !sources_.empty()) {
      bytes = to_next_block(offset);  // Where a packed piece may begin.
      buffer_.resize(bytes);
      in_place_.read(shard_, offset, buffer_);
      sha_.add(buffer_);
      good = true;
    }
    if (bytes == 0) bytes = miss(offset);
    complete_ = complete_ && good;
    return bytes;
  }

  ShardCheck finish() {
    end_gap();
    if (complete_) check_.sha256 = sha_.finish();
    return std::move(check_);
  }

 private:
  bool read_piece(const ShardSource& source, bool first_good) {
    end_gap();
    const std::string path = storage_.files()[source.holder.file.value].path.string();
    std::unique_ptr<PieceReader>& reader = readers_[source.holder.file];
    if (reader == nullptr) reader = std::make_unique<PieceReader>(path);
    ++check_.pieces;
    const std::string trouble = reader->read(source.holder, source.piece_bytes);
    if (!trouble.empty()) {
      check_.troubles.push_back(fmt::format("{}: {}", path, trouble));
      return false;
    }
    if (first_good) sha_.add(reader->piece().subspan(source.skip, source.bytes));
    return true;
  }

  // Nobody has the next bytes: they are one trouble, however many they are.
  uint64_t miss(uint64_t offset) {
    if (gap_end_ == gap_begin_) gap_begin_ = offset;
    const uint64_t bytes = to_next_block(offset);
    gap_end_ = offset + bytes;
    return bytes;
  }

  [[nodiscard]] uint64_t to_next_block(uint64_t offset) const {
    return std::min(io::kBlockBytes - offset % io::kBlockBytes,
                    storage_.shards()[shard_.value].bytes - offset);
  }

  void end_gap() {
    if (gap_end_ > gap_begin_) {
      check_.troubles.push_back(fmt::format("{}: nobody has its bytes {} to {}",
                                            storage_.shards()[shard_.value].name, gap_begin_,
                                            gap_end_ - 1));
    }
    gap_begin_ = gap_end_ = 0;
  }

  const Storage& storage_;
  const ShardId shard_;
  const CheckScope scope_;
  StorageReader in_place_;
  std::map<FileId, std::unique_ptr<PieceReader>> readers_;
  std::vector<ShardSource> sources_;
  std::vector<std::byte> buffer_;
  uint64_t gap_begin_ = 0, gap_end_ = 0;
  bool complete_ = true;
  Sha256 sha_;
  ShardCheck check_;
};

}  // namespace

ShardCheck check_shard(const Storage& storage, ShardId shard, CheckScope scope,
                       const std::function<void(uint64_t bytes)>& advanced) {
  Walk walk(storage, shard, scope);
  for (uint64_t at = 0; at < storage.shards()[shard.value].bytes;) {
    const uint64_t bytes = walk.step(at);
    at += bytes;
    if (advanced) advanced(bytes);
  }
  return walk.finish();
}

}  // namespace sluice::format
