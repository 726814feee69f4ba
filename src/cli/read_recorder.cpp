#include "cli/read_recorder.h"

#include "base/error.h"
#include "base/start_thread.h"
#include "stream/reading_counters.h"

#include <chrono>
#include <utility>

namespace sluice::cli {
namespace {

// A fast machine ends some ten thousand reads in a second.
constexpr size_t kReadsMax = size_t{1} << 16, kReadsMuch = kReadsMax / 4;

format::TracedRead traced(const stream::ReadRecord& record) {
  const stream::EndedRead& ended = record.ended;
  return {.started = ended.started,
          .duration = ended.ended - ended.started,
          .round = record.round,
          .queued_bytes = ended.read.queued_bytes,
          .bytes = static_cast<uint32_t>(ended.read.bytes),
          .segment = record.segment,
          .piece = ended.read.piece,
          .file = ended.read.holder.file,
          .error = static_cast<uint16_t>(ended.error),
          .priority = static_cast<uint8_t>(ended.read.priority),
          .outcome = static_cast<uint8_t>(ended.outcome),
          .retry = ended.read.retry};
}

template <class Enum, size_t count>
std::vector<std::string> names() {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) all.emplace_back(stream::name(static_cast<Enum>(i)));
  return all;
}

format::ReadTraceHeader trace_header(const model::LoadedModel& loaded) {
  format::ReadTraceHeader header{.fingerprint = loaded.fingerprint(),
                                 .priorities = names<stream::Priority, stream::kPriorities>(),
                                 .outcomes = names<stream::ReadOutcome, stream::kReadOutcomes>(),
                                 .drives = loaded.drive_names()};
  const io::DriveArray& drives = loaded.drives();
  for (uint16_t f = 0; f < drives.file_count(); ++f) {
    header.files.push_back({drives.drive({f}), drives.path({f})});
  }
  const model::WeightMap& weights = loaded.weights();
  for (uint32_t panel = 0; panel < weights.pass_order.size(); ++panel) {
    header.panels.push_back(weights.panel_tensor({panel}));
  }
  const model::ModelShape& shape = loaded.shape();
  for (uint32_t layer = shape.dense_layers; layer < shape.layers; ++layer) {
    header.experts.push_back(
        {layer, SegmentId{weights.layers[layer].moe.first_expert}, shape.experts});
  }
  return header;
}

format::ReadTraceEnd trace_end(const stream::ReadingCounters& counters) {
  format::ReadTraceEnd end;
  for (const auto& [name, field] : stream::streamer_counters()) {
    end.counters.push_back({std::string(name), counters.streamer.*field});
  }
  for (const stream::DriveCounters& drive : counters.drives) {
    end.drives.push_back({.bytes = {drive.bytes.begin(), drive.bytes.end()},
                          .reads = {drive.outcomes.begin(), drive.outcomes.end()},
                          .quarantines = drive.quarantines,
                          .busy = drive.busy,
                          .rate = drive.rate});
  }
  return end;
}

/// Whether these are the counters after so many reads: they are not taken all at once, and reads go
/// on.
bool of_one_moment(const stream::ReadingCounters& counters, uint64_t reads) {
  uint64_t ended = 0, bytes = 0;
  for (const stream::DriveCounters& drive : counters.drives) {
    ended += stream::reads_ended(drive);
    bytes += stream::bytes_read(drive);
  }
  return ended == reads && bytes == counters.streamer.device_bytes_read;
}

}  // namespace

void ReadBuffer::attach(model::LoadOptions& options) {
  block_.reads.reserve(kReadsMax);
  options.reading.on_read = [this](const stream::ReadRecord& record) { push(traced(record)); };
  options.output_bytes = [others = options.output_bytes](const model::ModelShape& shape) {
    // One block fills while the other is written.
    return 2 * kReadsMax * sizeof(format::TracedRead) + (others ? others(shape) : 0);
  };
}

void ReadBuffer::push(const format::TracedRead& read) {
  const std::lock_guard lock(mutex_);
  if (block_.reads.size() == kReadsMax) {
    ++block_.lost;
    return;
  }
  block_.reads.push_back(read);
  if (block_.reads.size() == kReadsMuch) filling_.notify_one();
}

bool ReadBuffer::take(format::ReadBlock& block) {
  block.reads.clear();
  block.reads.reserve(kReadsMax);
  block.lost = 0;
  std::unique_lock lock(mutex_);
  filling_.wait_for(lock, std::chrono::seconds(1),
                    [this] { return closed_ || block_.reads.size() >= kReadsMuch; });
  std::swap(block, block_);
  return !closed_;
}

void ReadBuffer::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  filling_.notify_one();
}

ReadRecorder::ReadRecorder(model::LoadedModel& loaded, ReadBuffer& buffer,
                           const std::filesystem::path& path)
    : loaded_(loaded), buffer_(buffer), writer_(path, trace_header(loaded)) {
  thread_ = start_thread([this] { run(); });
}

void ReadRecorder::finish() {
  stop();
  if (!trouble_.empty()) throw Error(ErrorCode::kIo, trouble_);
}

void ReadRecorder::stop() {
  if (!thread_.joinable()) return;
  buffer_.close();
  thread_.join();
}

void ReadRecorder::run() noexcept {
  try {
    write_all();
  } catch (const Error& error) {
    trouble_ = error.what();
  }
}

void ReadRecorder::write_all() {
  format::ReadBlock block;
  while (buffer_.take(block)) write(block);
  write(block);
  stream::ReadingCounters counters = stream::ReadingCounters::of(loaded_.streamer());
  while (!of_one_moment(counters, reads_)) {
    (void)buffer_.take(block);
    write(block);
    counters = stream::ReadingCounters::of(loaded_.streamer());
  }
  writer_.finish(trace_end(counters));
}

void ReadRecorder::write(const format::ReadBlock& block) {
  writer_.append(block.reads, block.lost);
  reads_ += block.reads.size() + block.lost;
}

}  // namespace sluice::cli
