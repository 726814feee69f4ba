#pragma once
#include "format/read_trace_file.h"
#include "model/loaded_model.h"
#include "stream/reading_counters.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

namespace sluice::cli {

/// What a model's streamer told of and is yet to be written. What comes while it is full is counted
/// and lost, so that it never holds the reading up. It must outlive the model that it is attached
/// to.
class ReadBuffer {
 public:
  /// Lets a model that is loaded with these options tell of its reads, and takes the memory for
  /// that from the budget. To be called once, when `options` are complete otherwise.
  void attach(model::LoadOptions& options);

  /// For the threads that read and request.
  void push(const stream::StreamerEvent& event);
  /// Moves what there is to `events`, whose memory goes on to be used here. Waits until it is much,
  /// for a second at most, or for close(). False once it is closed.
  [[nodiscard]] bool take(format::TraceEvents& events);
  /// Ends waiting. What comes later is still taken.
  void close();

 private:
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable filling_;
  format::TraceEvents events_;
  bool closed_ = false;
};

/// Writes what the streamer of a model does to a trace, in a thread of its own: a pass over a long
/// prompt makes more of them than memory should hold. What goes wrong with the file ends the trace
/// and not the run.
class ReadRecorder {
 public:
  /// `buffer` was attached when the model was loaded, and nothing has been read yet. Both must
  /// outlive this. Throws Error as ReadTraceWriter does.
  ReadRecorder(model::LoadedModel& loaded, ReadBuffer& buffer, const std::filesystem::path& path);
  /// Finishes without a word, for a run that an error ended.
  ~ReadRecorder() { stop(); }
  ReadRecorder(const ReadRecorder&) = delete;
  ReadRecorder& operator=(const ReadRecorder&) = delete;

  /// Writes what is left and the counters. Throws Error when the trace could not be written.
  void finish();

 private:
  void stop();
  void run() noexcept;
  void write_all();
  void write(const format::TraceEvents& events);
  [[nodiscard]] bool has_all(const stream::ReadingCounters& counters) const;

  model::LoadedModel& loaded_;
  ReadBuffer& buffer_;
  format::ReadTraceWriter writer_;
  uint64_t reads_ = 0;  // Written or lost.
  uint64_t wasted_bytes_ = 0, wastes_lost_ = 0;
  std::string trouble_;  // With the file; read when the thread has ended.
  std::thread thread_;
};

}  // namespace sluice::cli
