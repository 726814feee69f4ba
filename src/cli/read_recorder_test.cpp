// Without these tests reads that come too fast could be missing from a trace that looks complete.
#include "cli/read_recorder.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

/// Pushes reads whose pieces count up from `first`.
void push(ReadBuffer& buffer, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) buffer.push({.piece = first + i});
}

TEST(ReadBuffer, CountsWhatItHasNoRoomFor) {
  constexpr uint32_t kMany = 1u << 18;
  ReadBuffer buffer;
  push(buffer, 0, kMany);
  format::ReadBlock block;
  EXPECT_TRUE(buffer.take(block));
  const size_t room = block.reads.size();
  EXPECT_GT(room, 0u);
  EXPECT_LT(room, kMany);
  EXPECT_EQ(block.lost, kMany - room);
  for (uint32_t i = 0; i < room; ++i) ASSERT_EQ(block.reads[i].piece, i);

  // There is room again, and the same reads are not lost twice.
  push(buffer, 7, 1);
  buffer.close();
  EXPECT_FALSE(buffer.take(block));
  EXPECT_EQ(block, (format::ReadBlock{{{.piece = 7}}, 0}));
}

TEST(ReadBuffer, TakesReadsThatEndAfterItWasClosed) {
  ReadBuffer buffer;
  buffer.close();
  push(buffer, 3, 2);
  format::ReadBlock block;
  EXPECT_FALSE(buffer.take(block));
  EXPECT_EQ(block, (format::ReadBlock{{{.piece = 3}, {.piece = 4}}, 0}));
}

TEST(ReadBuffer, TakesItsMemoryFromTheBudget) {
  ReadBuffer buffer;
  model::LoadOptions options;
  options.output_bytes = [](const model::ModelShape&) { return uint64_t{1000}; };
  buffer.attach(options);
  push(buffer, 0, 1u << 18);
  format::ReadBlock block;
  EXPECT_TRUE(buffer.take(block));
  EXPECT_GE(options.output_bytes({}),
            1000 + (block.reads.capacity() + block.reads.size()) * sizeof(format::TracedRead));
}

}  // namespace
}  // namespace sluice::cli
