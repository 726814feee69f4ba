#pragma once
#include "format/append_file.h"
#include "format/read_trace.h"
#include "io/input_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sluice::format {

/// Writes a read trace. What was appended survives the program.
class ReadTraceWriter {
 public:
  /// Throws Error as AppendFile does.
  ReadTraceWriter(const std::filesystem::path& path, const ReadTraceHeader& header);
  void append(const TraceEvents& events);
  void finish(const ReadTraceEnd& end);

 private:
  AppendFile file_;
};

/// Reads a trace front to back, holding one block in memory.
class ReadTraceReader {
 public:
  /// Throws Error that names the path.
  explicit ReadTraceReader(const std::filesystem::path& path);

  [[nodiscard]] const ReadTraceHeader& header() const { return header_; }
  /// The next events; false after the last whole block. Throws Error.
  [[nodiscard]] bool next(TraceEvents& events);
  /// Lets next() go on with what the run has written since it returned false.
  void look_again() { file_.look_again(); }
  /// Nothing when the run died before it wrote it. Known once next() has returned false.
  [[nodiscard]] const std::optional<ReadTraceEnd>& end() const { return end_; }
  /// Bytes at the end that are no whole block, once next() has returned false.
  [[nodiscard]] uint64_t bytes_left_out() const { return file_.bytes() - at_; }

 private:
  [[nodiscard]] std::optional<TraceBlock> next_block();
  [[nodiscard]] ReadTraceHeader read_header();

  io::InputFile file_;
  uint64_t at_ = 0;
  std::vector<std::byte> block_;
  const ReadTraceHeader header_;
  std::optional<ReadTraceEnd> end_;
};

}  // namespace sluice::format
