// Without these tests the trace of a slow run could be unreadable, or a damaged one be believed.
#include "base/crc32.h"
#include "base/error.h"
#include "base/test_refusal.h"
#include "format/read_trace_file.h"
#include "format/test_path.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

using ::testing::HasSubstr;

ReadTraceHeader sample_header() {
  return {.fingerprint = 0x0123456789abcdef,
          .priorities = {"spine", "expert"},
          .outcomes = {"good", "io_error", "short"},
          .drives = {"/mnt/a", "/mnt/b"},
          .files = {{{0}, "/mnt/a/1"}, {{1}, "/mnt/b/1"}},
          .panels = {"tensor q", "tensor k"},
          .experts = {{.layer = 1, .first = {2}, .count = 8}, {3, {10}, 4}}};
}

TracedRead sample_read(uint32_t number) {
  return {.started = Nanos(1'000'000 + number),
          .duration = Nanos(80'000 + number),
          .round = 7,
          .queued_bytes = 8192,
          .bytes = 4096,
          .segment = {number % 14},
          .piece = number,
          .file = {1},
          .error = 5,
          .priority = 1,
          .outcome = 2,
          .retry = true};
}

std::vector<TracedRead> sample_reads(uint32_t count) {
  std::vector<TracedRead> reads;
  for (uint32_t i = 0; i < count; ++i) reads.push_back(sample_read(i));
  return reads;
}

ReadTraceEnd sample_end() {
  return {.counters = {{"hits", 3}, {"misses", 4}},
          .drives = {{.bytes = {1, 2},
                      .reads = {3, 4, 5},
                      .quarantines = 6,
                      .busy = Nanos(7),
                      .rate = 8.5,
                      .oldest = Nanos(9)},
                     {.bytes = {9, 10}, .reads = {11, 12, 13}}}};
}

TraceEvents of_reads(std::vector<TracedRead> reads, uint64_t lost) {
  return {.reads = {std::move(reads), lost}};
}

/// One of each kind that is no read.
TraceEvents other_events() {
  return {.requests = {{{.at = Nanos(1),
                         .round = 2,
                         .bytes_missed = 3,
                         .first = {4},
                         .experts = 6,
                         .missed = 5}},
                       7},
          .waits = {{{Nanos(8), Nanos(9), 10, {11}}}, 12},
          .wastes = {{{Nanos(13), 14, 15, {12}}, {Nanos(16), 17, 18, {13}}}, 0}};
}

std::vector<TraceEvents> blocks_in(ReadTraceReader& reader) {
  std::vector<TraceEvents> blocks;
  for (TraceEvents events; reader.next(events);) blocks.push_back(events);
  return blocks;
}

TEST(ReadTrace, ComesBackAsItWas) {
  const TestPath path(".slrd");
  const std::vector<TracedRead> reads = sample_reads(kTraceListMax + 2);
  {
    ReadTraceWriter writer(path.get(), sample_header());
    writer.append(of_reads(sample_reads(3), 0));
    writer.append({});
    writer.append(of_reads(reads, 11));
    writer.append(of_reads({}, 5));
    writer.append(other_events());
    writer.finish(sample_end());
  }
  ReadTraceReader reader(path.get());
  EXPECT_EQ(reader.header(), sample_header());
  const std::vector<TraceEvents> blocks = blocks_in(reader);
  ASSERT_EQ(blocks.size(), 7u);
  EXPECT_EQ(blocks[0], of_reads(sample_reads(3), 0));
  EXPECT_EQ(blocks[1], of_reads(sample_reads(kTraceListMax), 0));
  EXPECT_EQ(blocks[2], of_reads({reads.end() - 2, reads.end()}, 11));
  EXPECT_EQ(blocks[3], of_reads({}, 5));
  EXPECT_EQ(blocks[4], (TraceEvents{.requests = other_events().requests}));
  EXPECT_EQ(blocks[5], (TraceEvents{.waits = other_events().waits}));
  EXPECT_EQ(blocks[6], (TraceEvents{.wastes = other_events().wastes}));
  EXPECT_EQ(reader.end(), sample_end());
  EXPECT_EQ(reader.bytes_left_out(), 0u);
}

TEST(ReadTrace, NamesSegments) {
  const ReadTraceHeader header = sample_header();
  EXPECT_EQ(header.segments(), 14u);
  EXPECT_EQ(header.segment_name({1}), "tensor k");
  EXPECT_EQ(header.segment_name({2}), "expert 0 of layer 1");
  EXPECT_EQ(header.segment_name({9}), "expert 7 of layer 1");
  EXPECT_EQ(header.segment_name({13}), "expert 3 of layer 3");
}

// Other programs read the file by docs/formats.md.
TEST(ReadTrace, TheBytesAreThoseOfTheManual) {
  const auto text = [](const std::vector<std::byte>& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size() - 4);
  };
  const ReadTraceHeader header = {.fingerprint = 0xff,
                                  .priorities = {"p"},
                                  .outcomes = {"o"},
                                  .drives = {"d"},
                                  .files = {{{0}, "f"}},
                                  .panels = {"t"},
                                  .experts = {{.layer = 2, .first = {1}, .count = 3}}};
  EXPECT_EQ(text(encode_read_header(header)),
            std::string("SLRD\x4b\0\0\0\2\0\0\0\xff\0\0\0\0\0\0\0"
                        "\1\0\0\0\1\0\0\0p\1\0\0\0\1\0\0\0o\1\0\0\0\1\0\0\0d"
                        "\1\0\0\0\0\0\1\0\0\0f\1\0\0\0\1\0\0\0t"
                        "\1\0\0\0\2\0\0\0\1\0\0\0\3\0\0\0",
                        83));
  const TracedRead read = {.started = Nanos(1),
                           .duration = Nanos(2),
                           .round = 3,
                           .queued_bytes = 7 * 4096,
                           .bytes = 6,
                           .segment = {4},
                           .piece = 5,
                           .file = {8},
                           .error = 9,
                           .priority = 10,
                           .outcome = 11,
                           .retry = true};
  EXPECT_EQ(text(encode_list({&read, 1}, 2)),
            std::string("READ\x3c\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0"
                        "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
                        "\4\0\0\0\5\0\0\0\6\0\0\0\7\0\0\0\x8\0\x9\0\xa\xb\1\0",
                        68));
  const TraceEvents others = other_events();
  EXPECT_EQ(text(encode_list(others.requests.entries, 7)),
            std::string("RQST\x34\0\0\0\7\0\0\0\0\0\0\0\1\0\0\0"
                        "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
                        "\4\0\0\0\6\0\0\0\5\0\0\0\0\0\0\0",
                        60));
  EXPECT_EQ(text(encode_list(others.waits.entries, 12)),
            std::string("WAIT\x2c\0\0\0\xc\0\0\0\0\0\0\0\1\0\0\0"
                        "\x8\0\0\0\0\0\0\0\x9\0\0\0\0\0\0\0\xa\0\0\0\0\0\0\0"
                        "\xb\0\0\0\0\0\0\0",
                        52));
  EXPECT_EQ(text(encode_list(std::span(others.wastes.entries).first(1), 0)),
            std::string("WSTE\x2c\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0"
                        "\xd\0\0\0\0\0\0\0\xe\0\0\0\0\0\0\0\xf\0\0\0\0\0\0\0"
                        "\xc\0\0\0\0\0\0\0",
                        52));
  const ReadTraceEnd end = {.counters = {{"c", 1}},
                            .drives = {{.bytes = {2},
                                        .reads = {3},
                                        .quarantines = 4,
                                        .busy = Nanos(5),
                                        .rate = 1.0,
                                        .oldest = Nanos(6)}}};
  EXPECT_EQ(text(encode_read_end(end)),
            std::string("ENDS\x41\0\0\0\1\0\0\0\1\0\0\0c\1\0\0\0\0\0\0\0"
                        "\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0"
                        "\0\0\0\0\0\0\xf0\x3f\6\0\0\0\0\0\0\0",
                        73));
}

TEST(ReadTrace, ACutOrDamagedEndIsLeftOut) {
  const TestPath path(".slrd");
  {
    ReadTraceWriter writer(path.get(), sample_header());
    writer.append(of_reads(sample_reads(1), 0));
    writer.finish(sample_end());
  }
  const std::string whole = path.bytes();
  const size_t end_begin = whole.size() - encode_read_end(sample_end()).size();
  const auto check = [&](const std::string& bytes) {
    path.write(bytes);
    ReadTraceReader reader(path.get());
    EXPECT_EQ(blocks_in(reader).size(), 1u);
    EXPECT_FALSE(reader.end());
    EXPECT_EQ(reader.bytes_left_out(), bytes.size() - end_begin);
  };
  for (size_t at = end_begin; at < whole.size(); ++at) {
    check(whole.substr(0, at));
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    check(damaged);
  }
}

TEST(ReadTrace, ADamagedHeaderIsRefused) {
  const TestPath path(".slrd");
  {
    const ReadTraceWriter writer(path.get(), sample_header());
  }
  const std::string whole = path.bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    for (const std::string& bytes : {damaged, whole.substr(0, at)}) {
      path.write(bytes);
      EXPECT_THAT(refusal([&] { (void)ReadTraceReader(path.get()); }),
                  HasSubstr(path.get().string() + ": is not a read trace"))
          << at;
    }
  }
}

/// Sets a byte of a block and makes its checksum right.
std::vector<std::byte> altered(std::vector<std::byte> block, size_t at, uint8_t value) {
  block[at] = std::byte{value};
  const uint32_t crc = crc32(std::span(block).first(block.size() - sizeof(uint32_t)));
  std::memcpy(block.data() + block.size() - sizeof crc, &crc, sizeof crc);
  return block;
}

TEST(ReadTrace, WhatCannotBeIsRefused) {
  const ReadTraceHeader header = sample_header();
  const std::vector<std::byte> head = encode_read_header(header),
                               end = encode_read_end(sample_end());
  const std::vector<std::byte> reads = encode_list(sample_reads(1), 0);
  const std::vector<std::byte> requests = encode_list(other_events().requests.entries, 0),
                               waits = encode_list(other_events().waits.entries, 0),
                               wastes = encode_list(other_events().wastes.entries, 0);
  const auto parse_head = [](const std::vector<std::byte>& block) {
    (void)parse_read_header(block, "a.slrd");
  };
  const auto parse_body = [&](const std::vector<std::byte>& block) {
    TraceEvents out;
    parse_list(header, parse_block_head(std::span(block).first(kTraceBlockHeadBytes))->kind, block,
               "a.slrd", out);
  };
  const auto parse_end = [&](const std::vector<std::byte>& block) {
    (void)parse_read_end(header, block, "a.slrd");
  };
  struct Case {
    const char* says;
    const std::vector<std::byte>& block;
    size_t at;
    uint8_t value;
    std::function<void(const std::vector<std::byte>&)> parse;
  };
  constexpr size_t kRead = kTraceBlockHeadBytes + 12;  // Where the first entry begins.
  for (const Case& c : {Case{"format version 1", head, 8, 1, parse_head},
                        Case{"tables", head, 20, 3, parse_head},
                        Case{"drive", head, 104, 2, parse_head},
                        Case{"do not follow", head, head.size() - 4 - 8, 9, parse_head},
                        Case{"time", reads, kRead + 7, 0x80, parse_body},
                        Case{"time", reads, kRead + 15, 0x80, parse_body},
                        Case{"segment", reads, kRead + 24, 14, parse_body},
                        Case{"file", reads, kRead + 40, 2, parse_body},
                        Case{"priority", reads, kRead + 44, 2, parse_body},
                        Case{"outcome", reads, kRead + 45, 3, parse_body},
                        Case{"field", reads, kRead + 46, 2, parse_body},
                        Case{"field", reads, kRead + 47, 1, parse_body},
                        Case{"size", reads, kTraceBlockHeadBytes + 8, 2, parse_body},
                        Case{"time", requests, kRead + 7, 0x80, parse_body},
                        Case{"no expert", requests, kRead + 24, 1, parse_body},
                        Case{"no expert", requests, kRead + 24, 14, parse_body},
                        Case{"misses more", requests, kRead + 32, 7, parse_body},
                        Case{"field", requests, kRead + 36, 1, parse_body},
                        Case{"time", waits, kRead + 7, 0x80, parse_body},
                        Case{"time", waits, kRead + 15, 0x80, parse_body},
                        Case{"segment", waits, kRead + 24, 14, parse_body},
                        Case{"field", waits, kRead + 28, 1, parse_body},
                        Case{"time", wastes, kRead + 7, 0x80, parse_body},
                        Case{"segment", wastes, kRead + 32 + 24, 14, parse_body},
                        Case{"field", wastes, kRead + 28, 1, parse_body},
                        Case{"size", wastes, kTraceBlockHeadBytes + 8, 3, parse_body},
                        Case{"time", end, end.size() - 5, 0x80, parse_end},
                        Case{"size", end, kTraceBlockHeadBytes, 3, parse_end}}) {
    const std::string said = refusal([&] { c.parse(altered(c.block, c.at, c.value)); });
    EXPECT_THAT(said, HasSubstr("a.slrd: ")) << c.says;
    EXPECT_THAT(said, HasSubstr(c.says));
  }
}

}  // namespace
}  // namespace sluice::format
