#pragma once
#include "io/drive_array.h"
#include "io/input_file.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice::io {

/// Stops the program when a read breaks the rules of io::Read.
void check_reads(std::span<const Read> reads, size_t file_count);

/// One read on its way, whoever makes the calls: which call comes next, and what the result of the
/// last one means. A call may move less than it was asked for; then the rest is asked for. A file
/// whose file system refuses direct reads is told to stop them.
class ReadProgress {
 public:
  struct Call {
    uint64_t offset = 0;  ///< Bytes from the start of the file.
    std::span<std::byte> into;
  };

  /// `file` must outlive it.
  ReadProgress(const Read& read, InputFile& file);
  /// The call to make now; nothing when the read has ended.
  [[nodiscard]] std::optional<Call> next();
  /// What that call did: the bytes that it read, 0 at the end of the file, or minus errno.
  void advance(int64_t result);
  /// Of a read that has ended.
  [[nodiscard]] Completion completion() const { return {read_.id, status_, error_}; }
  [[nodiscard]] const Read& read() const { return read_; }

 private:
  void end(ReadStatus status, int error = 0);

  Read read_;
  InputFile* file_;
  uint64_t wanted_ = 0;  // Bytes that the file has of it.
  uint64_t done_ = 0;    // Of them, those that are there.
  uint64_t from_ = 0;    // Where the last call began, from the start of the read,
  bool direct_ = false;  // and how it was made.
  ReadStatus status_ = ReadStatus::kOk;
  int error_ = 0;
};

}  // namespace sluice::io
