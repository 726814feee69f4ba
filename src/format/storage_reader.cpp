#include "format/storage_reader.h"

#include "base/error.h"
#include "format/attempt.h"
#include "io/timed_read.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

namespace sluice::format {
namespace {

// How long a copy is waited for when there is another, and for how long it then comes last.
constexpr Nanos kPatience = std::chrono::milliseconds(200);
constexpr Nanos kHangsFor = std::chrono::seconds(10);

Nanos steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

void StorageReader::read(ShardId shard, uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    storage_.find(shard, offset, sources_);
    put_hanging_last();
    std::optional<Error> trouble;
    size_t done = 0;
    for (const ShardSource& source : sources_) {
      const size_t bytes = std::min<uint64_t>(into.size(), source.bytes);
      const bool last = &source == &sources_.back();
      const std::optional<Error> error =
          attempt([&] { read_from(source, into.first(bytes), last); });
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

void StorageReader::put_hanging_last() {
  if (files_.empty()) files_.resize(storage_.files().size());
  const Nanos now = steady_now();
  const auto hangs = [&](const ShardSource& source) {
    return files_[source.holder.file.value].hangs_until > now;
  };
  std::vector<ShardSource> hanging;
  std::ranges::copy_if(sources_, std::back_inserter(hanging), hangs);
  std::erase_if(sources_, hangs);
  sources_.insert(sources_.end(), hanging.begin(), hanging.end());
}

void StorageReader::read_from(const ShardSource& source, std::span<std::byte> into, bool last) {
  if (source.piece_bytes == 0) {
    read_file(source.holder.file, source.holder.offset, into, last);
    return;
  }
  if (!has_piece_ || piece_file_ != source.holder.file || piece_offset_ != source.holder.offset) {
    load_piece(source, last);
  }
  std::ranges::copy(std::span(piece_).subspan(source.skip, into.size()), into.begin());
}

void StorageReader::load_piece(const ShardSource& source, bool last) {
  const Holder& holder = source.holder;
  has_piece_ = false;
  piece_.resize(source.piece_bytes);
  read_file(holder.file, holder.offset, std::span(piece_).first(holder.stored_bytes), last);
  const PieceVerdict verdict = decoder_.accept(holder, piece_);
  if (verdict != PieceVerdict::kGood) {
    throw Error(
        ErrorCode::kCorrupt,
        "{}: the piece of {} bytes at byte {} {}; the file is damaged: delete it and pack "
        "its shard again",
        storage_.files()[holder.file.value].path.string(), holder.stored_bytes, holder.offset,
        verdict == PieceVerdict::kWrongChecksum ? "has a wrong checksum" : "cannot be decoded");
  }
  has_piece_ = true;
  piece_file_ = holder.file;
  piece_offset_ = holder.offset;
}

void StorageReader::read_file(FileId id, uint64_t offset, std::span<std::byte> into, bool last) {
  File& file = files_[id.value];
  const std::string path = storage_.files()[id.value].path.string();
  if (last) {
    if (file.opened == nullptr) file.opened = std::make_unique<io::InputFile>(path);
    file.opened->read(offset, into);
  } else if (!io::read_within(path, offset, into, kPatience)) {
    file.hangs_until = steady_now() + kHangsFor;
    throw Error(ErrorCode::kIo, "{}: has not answered for {} ms", path,
                std::chrono::duration_cast<std::chrono::milliseconds>(kPatience).count());
  }
}

}  // namespace sluice::format
