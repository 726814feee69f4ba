#include "cli/read_recorder.h"

#include "base/error.h"
#include "base/start_thread.h"
#include "stream/reading_counters.h"

#include <chrono>
#include <utility>
#include <variant>

namespace sluice::cli {
namespace {

// A fast machine ends some ten thousand reads in a second, and all else is rarer.
constexpr size_t kReadsMax = size_t{1} << 16, kOthersMax = size_t{1} << 14;

template <class Entry>
constexpr size_t kEntriesMax = kOthersMax;
template <>
constexpr size_t kEntriesMax<format::TracedRead> = kReadsMax;

/// All memory that events will need.
void reserve(format::TraceEvents& events) {
  events.each_list([]<class Entry>(format::TraceList<Entry>& list) {
    list.entries.reserve(kEntriesMax<Entry>);
  });
}

/// Whether it is time to write them.
bool is_much(const format::TraceEvents& events) {
  bool much = false;
  events.each_list([&]<class Entry>(const format::TraceList<Entry>& list) {
    much |= list.entries.size() >= kEntriesMax<Entry> / 4;
  });
  return much;
}

template <class Entry>
void push_to(format::TraceList<Entry>& list, const Entry& entry) {
  if (list.entries.size() == kEntriesMax<Entry>) {
    ++list.lost;
  } else {
    list.entries.push_back(entry);
  }
}

void push_to(format::TraceEvents& events, const stream::ReadRecord& record) {
  const stream::EndedRead& ended = record.ended;
  push_to(events.reads, {.started = ended.started,
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
                         .retry = ended.read.retry});
}
void push_to(format::TraceEvents& events, const stream::RequestRecord& record) {
  push_to(events.requests, {.at = record.at,
                            .round = record.round,
                            .bytes_missed = record.bytes_missed,
                            .first = record.first,
                            .experts = record.experts,
                            .missed = record.missed});
}
void push_to(format::TraceEvents& events, const stream::WaitRecord& record) {
  push_to(events.waits, {record.started, record.duration, record.round, record.segment});
}
void push_to(format::TraceEvents& events, const stream::WasteRecord& record) {
  push_to(events.wastes, {record.at, record.round, record.bytes, record.segment});
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
                          .rate = drive.rate,
                          .oldest = drive.oldest});
  }
  return end;
}

}  // namespace

void ReadBuffer::attach(model::LoadOptions& options) {
  reserve(events_);
  options.reading.on_event = [this](const stream::StreamerEvent& event) { push(event); };
  options.output_bytes = [others = options.output_bytes](const model::ModelShape& shape) {
    uint64_t bytes = others ? others(shape) : 0;
    // One is filled while the other is written.
    format::TraceEvents{}.each_list([&]<class Entry>(const format::TraceList<Entry>&) {
      bytes += 2 * kEntriesMax<Entry> * sizeof(Entry);
    });
    return bytes;
  };
}

void ReadBuffer::push(const stream::StreamerEvent& event) {
  const std::lock_guard lock(mutex_);
  const bool was_much = is_much(events_);
  std::visit([this](const auto& record) { push_to(events_, record); }, event);
  if (!was_much && is_much(events_)) filling_.notify_one();
}

bool ReadBuffer::take(format::TraceEvents& events) {
  events.each_list([](auto& list) {
    list.entries.clear();
    list.lost = 0;
  });
  reserve(events);
  std::unique_lock lock(mutex_);
  filling_.wait_for(lock, std::chrono::seconds(1), [this] { return closed_ || is_much(events_); });
  std::swap(events, events_);
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
  format::TraceEvents events;
  while (buffer_.take(events)) write(events);
  write(events);
  stream::ReadingCounters counters = stream::ReadingCounters::of(loaded_.streamer());
  while (!has_all(counters)) {
    (void)buffer_.take(events);
    write(events);
    counters = stream::ReadingCounters::of(loaded_.streamer());
  }
  writer_.finish(trace_end(counters));
}

void ReadRecorder::write(const format::TraceEvents& events) {
  writer_.append(events);
  reads_ += events.reads.entries.size() + events.reads.lost;
  for (const format::TracedWaste& waste : events.wastes.entries) wasted_bytes_ += waste.bytes;
  wastes_lost_ += events.wastes.lost;
}

// Whether these are the counters after what was written: they are not taken all at once, and reads
// go on. Requests and waits do not, as their thread is the one that finishes the trace.
bool ReadRecorder::has_all(const stream::ReadingCounters& counters) const {
  uint64_t ended = 0, bytes = 0;
  for (const stream::DriveCounters& drive : counters.drives) {
    ended += stream::reads_ended(drive);
    bytes += stream::bytes_read(drive);
  }
  return ended == reads_ && bytes == counters.streamer.device_bytes_read &&
         (wastes_lost_ > 0 || wasted_bytes_ == counters.streamer.hint_bytes_wasted);
}

}  // namespace sluice::cli
