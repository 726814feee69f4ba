#include "format/storage_reader.h"

#include "base/error.h"
#include "format/attempt.h"

#include <algorithm>
#include <optional>
#include <string>

namespace sluice::format {

void StorageReader::read(ShardId shard, uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    storage_.find(shard, offset, sources_);
    std::optional<Error> trouble;
    size_t done = 0;
    for (const ShardSource& source : sources_) {
      const size_t bytes = std::min<uint64_t>(into.size(), source.bytes);
      const std::optional<Error> error = attempt([&] { read_from(source, into.first(bytes)); });
      if (!error) {
        done = bytes;
        break;
      }
      trouble = trouble ? Error(error->code(), "{}; {}", trouble->what(), error->what()) : *error;
    }
    if (done == 0 && trouble) throw *trouble;
    if (done == 0) {
      throw Error(ErrorCode::kNotFound, "{}: no file that is here has its bytes from {} on{}",
                  storage_.shards()[shard.value].name, offset, storage_.missing_text());
    }
    offset += done;
    into = into.subspan(done);
  }
}

void StorageReader::read_from(const ShardSource& source, std::span<std::byte> into) {
  if (source.piece_bytes == 0) {
    open(source.holder.file).read(source.holder.offset, into);
    return;
  }
  if (!has_piece_ || piece_file_ != source.holder.file || piece_offset_ != source.holder.offset) {
    load_piece(source);
  }
  std::ranges::copy(std::span(piece_).subspan(source.skip, into.size()), into.begin());
}

void StorageReader::load_piece(const ShardSource& source) {
  const Holder& holder = source.holder;
  has_piece_ = false;
  piece_.resize(source.piece_bytes);
  const io::InputFile& file = open(holder.file);
  file.read(holder.offset, std::span(piece_).first(holder.stored_bytes));
  const PieceVerdict verdict = decoder_.accept(holder, piece_);
  if (verdict != PieceVerdict::kGood) {
    throw Error(
        ErrorCode::kCorrupt,
        "{}: the piece of {} bytes at byte {} {}; the file is damaged: delete it and pack "
        "its shard again",
        file.path(), holder.stored_bytes, holder.offset,
        verdict == PieceVerdict::kWrongChecksum ? "has a wrong checksum" : "cannot be decoded");
  }
  has_piece_ = true;
  piece_file_ = holder.file;
  piece_offset_ = holder.offset;
}

const io::InputFile& StorageReader::open(FileId file) {
  if (files_.empty()) files_.resize(storage_.files().size());
  std::unique_ptr<io::InputFile>& opened = files_[file.value];
  if (opened == nullptr) {
    opened = std::make_unique<io::InputFile>(storage_.files()[file.value].path.string());
  }
  return *opened;
}

}  // namespace sluice::format
