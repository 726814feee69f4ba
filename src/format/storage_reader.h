#pragma once
#include "format/piece_decoder.h"
#include "format/storage.h"
#include "io/input_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice::format {

/// Reads bytes of shards and waits for them, wherever they lie. Keeps open what it has read from,
/// and the last piece. One thread.
class StorageReader {
 public:
  /// `storage` must outlive it.
  explicit StorageReader(const Storage& storage) : storage_(storage) {}

  /// Fills `into` from byte `offset` of a shard. A copy that cannot be read, does not come in time
  /// or has a wrong checksum is passed over for the next; the last one is waited for. Throws Error
  /// when none is left: kIo or kCorrupt that names the files and why they did not serve, kNotFound
  /// when nobody has the bytes.
  void read(ShardId shard, uint64_t offset, std::span<std::byte> into);

 private:
  struct File {
    std::unique_ptr<io::InputFile> opened;  // Null until it is waited for.
    Nanos hangs_until{};                    // By the steady clock: others are asked first.
  };

  void put_hanging_last();
  void read_from(const ShardSource& source, std::span<std::byte> into, bool last);
  void load_piece(const ShardSource& source, bool last);
  void read_file(FileId file, uint64_t offset, std::span<std::byte> into, bool last);

  const Storage& storage_;
  std::vector<File> files_;           // By id.
  std::vector<ShardSource> sources_;  // Of the current read.
  std::vector<std::byte> piece_;      // Decoded; whose, the next two say.
  FileId piece_file_;
  uint64_t piece_offset_ = 0;
  bool has_piece_ = false;
  PieceDecoder decoder_;
};

}  // namespace sluice::format
