// Without these tests reads that come too fast could be missing from a trace that looks complete.
#include "cli/read_recorder.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

/// Pushes reads whose pieces count up from `first`.
void push(ReadBuffer& buffer, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    stream::ReadRecord record{};
    record.ended.read.piece = first + i;
    buffer.push(record);
  }
}

/// The pieces of reads, which all are without anything else.
format::TraceEvents reads_of(const std::vector<uint32_t>& pieces) {
  format::TraceEvents events;
  for (const uint32_t piece : pieces) {
    format::TracedRead read{.piece = piece};
    read.priority = static_cast<uint8_t>(stream::PieceRead{}.priority);
    events.reads.entries.push_back(read);
  }
  return events;
}

TEST(ReadBuffer, CountsWhatItHasNoRoomFor) {
  constexpr uint32_t kMany = 1u << 18;
  ReadBuffer buffer;
  push(buffer, 0, kMany);
  format::TraceEvents events;
  EXPECT_TRUE(buffer.take(events));
  const size_t room = events.reads.entries.size();
  EXPECT_GT(room, 0u);
  EXPECT_LT(room, kMany);
  EXPECT_EQ(events.reads.lost, kMany - room);
  for (uint32_t i = 0; i < room; ++i) ASSERT_EQ(events.reads.entries[i].piece, i);

  // There is room again, and the same reads are not lost twice.
  push(buffer, 7, 1);
  buffer.close();
  EXPECT_FALSE(buffer.take(events));
  EXPECT_EQ(events, reads_of({7}));
}

TEST(ReadBuffer, TakesReadsThatEndAfterItWasClosed) {
  ReadBuffer buffer;
  buffer.close();
  push(buffer, 3, 2);
  format::TraceEvents events;
  EXPECT_FALSE(buffer.take(events));
  EXPECT_EQ(events, reads_of({3, 4}));
}

TEST(ReadBuffer, EachKindHasRoomOfItsOwn) {
  ReadBuffer buffer;
  push(buffer, 0, 1u << 18);
  buffer.push(stream::RequestRecord{
      .at = Nanos(1), .round = 2, .first = {3}, .experts = 4, .missed = 5, .bytes_missed = 6});
  buffer.push(stream::WaitRecord{Nanos(7), Nanos(8), 9, {10}});
  buffer.push(stream::WasteRecord{Nanos(11), 12, 13, {14}});
  format::TraceEvents events;
  EXPECT_TRUE(buffer.take(events));
  EXPECT_EQ(events.requests.entries, (std::vector<format::TracedRequest>{{.at = Nanos(1),
                                                                          .round = 2,
                                                                          .bytes_missed = 6,
                                                                          .first = {3},
                                                                          .experts = 4,
                                                                          .missed = 5}}));
  EXPECT_EQ(events.waits.entries, (std::vector<format::TracedWait>{{Nanos(7), Nanos(8), 9, {10}}}));
  EXPECT_EQ(events.wastes.entries, (std::vector<format::TracedWaste>{{Nanos(11), 12, 13, {14}}}));
}

TEST(ReadBuffer, TakesItsMemoryFromTheBudget) {
  ReadBuffer buffer;
  model::LoadOptions options;
  options.output_bytes = [](const model::ModelShape&) { return uint64_t{1000}; };
  buffer.attach(options);
  push(buffer, 0, 1u << 18);
  format::TraceEvents events;
  EXPECT_TRUE(buffer.take(events));
  uint64_t bytes = 1000;
  events.each_list([&]<class Entry>(const format::TraceList<Entry>& list) {
    bytes += 2 * list.entries.capacity() * sizeof(Entry);
  });
  EXPECT_EQ(options.output_bytes({}), bytes);
}

}  // namespace
}  // namespace sluice::cli
