#include "io/read_progress.h"

#include "base/check.h"

#include <algorithm>
#include <cerrno>

namespace sluice::io {

void check_reads(std::span<const Read> reads, size_t file_count) {
  for (const Read& read : reads) {
    SLUICE_CHECK(read.file.value < file_count);
    SLUICE_CHECK(read.offset % kBlockBytes == 0 && read.into.size() % kBlockBytes == 0);
    SLUICE_CHECK(reinterpret_cast<uintptr_t>(read.into.data()) % kBlockBytes == 0);
  }
}

// A file may end by less than a block before the read does.
ReadProgress::ReadProgress(const Read& read, InputFile& file) : read_(read), file_(&file) {
  const uint64_t left_in_file = file.bytes() > read.offset ? file.bytes() - read.offset : 0;
  wanted_ = std::min<uint64_t>(read.into.size(), left_in_file);
  if (wanted_ + kBlockBytes <= read.into.size()) end(ReadStatus::kShort);
}

std::optional<ReadProgress::Call> ReadProgress::next() {
  if (done_ >= wanted_) return std::nullopt;
  // A direct read is of whole blocks, also where the file ends inside one.
  direct_ = file_->direct();
  from_ = direct_ ? done_ / kBlockBytes * kBlockBytes : done_;
  const uint64_t bytes = direct_ ? read_.into.size() - from_ : wanted_ - from_;
  return Call{read_.offset + from_, read_.into.subspan(from_, bytes)};
}

void ReadProgress::advance(int64_t result) {
  if (result == -EINTR) return;
  if (result < 0 && !(direct_ && result == -EINVAL)) {
    end(ReadStatus::kIoError, static_cast<int>(-result));
  } else if (result == 0) {
    end(ReadStatus::kShort);
  } else if (const uint64_t reached = result < 0 ? 0 : from_ + static_cast<uint64_t>(result);
             direct_ && reached <= done_) {
    // Direct reads are refused after all, or come in parts too small to go on from a block.
    file_->stop_direct();
  } else {
    done_ = reached;
  }
}

void ReadProgress::end(ReadStatus status, int error) {
  status_ = status;
  error_ = error;
  done_ = wanted_;
}

}  // namespace sluice::io
