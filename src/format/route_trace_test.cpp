// Without these tests a trace of a whole night could be unreadable, or a damaged one be believed.
#include "format/route_trace.h"

#include "base/crc32.h"
#include "base/error.h"
#include "base/test_refusal.h"
#include "format/test_path.h"

#include <algorithm>
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

const RouteTraceHeader kHeader = {.layers = 4,
                                  .first_moe_layer = 1,
                                  .experts = 300,
                                  .top_k = 2,
                                  .fingerprint = 0x0123456789abcdef};

/// A pass of `rows` rows whose numbers all differ.
RoutePass sample_pass(uint32_t rows, PassKind kind = PassKind::kPrefill) {
  RoutePass pass;
  pass.kind = kind;
  for (uint32_t row = 0; row < rows; ++row) pass.rows.push_back({{7 + int32_t(row)}, 5, 11 + row});
  for (uint16_t slot = 0; slot < 3 * rows; ++slot) {
    for (const int step : {1, 256}) {
      pass.experts.push_back(static_cast<uint16_t>(slot + step));
      pass.weights.push_back(0.25f * static_cast<float>(slot + step));
    }
  }
  return pass;
}

std::vector<RoutePass> passes_in(const TestPath& path, uint64_t left_out = 0) {
  RouteTraceReader reader(path.get());
  EXPECT_EQ(reader.header(), kHeader);
  std::vector<RoutePass> passes;
  for (RoutePass pass; reader.next(pass);) passes.push_back(pass);
  EXPECT_EQ(reader.bytes_left_out(), left_out);
  return passes;
}

TEST(Crc32, IsThatOfZlib) {
  const std::string check = "123456789";  // The check value of the catalogues.
  EXPECT_EQ(crc32(std::as_bytes(std::span(check))), 0xCBF43926u);
  EXPECT_EQ(crc32({}), 0u);
}

TEST(RouteTrace, ComesBackAsItWas) {
  const TestPath path(".slrt");
  std::vector<RoutePass> written = {sample_pass(3), sample_pass(1, PassKind::kDecode)};
  {
    RouteTraceWriter writer(path.get(), kHeader);
    for (RoutePass& pass : written) writer.append(pass);
  }
  EXPECT_EQ(written[1].number, 1u);
  EXPECT_EQ(passes_in(path), written);
  EXPECT_EQ(path.bytes().size(),
            kTraceHeaderBytes + pass_bytes(kHeader, 3) + pass_bytes(kHeader, 1));
}

// Other programs read the file by docs/formats.md.
TEST(RouteTrace, TheBytesAreThoseOfTheManual) {
  const RouteTraceHeader header = {
      .layers = 2, .first_moe_layer = 1, .experts = 9, .top_k = 1, .fingerprint = 0xff};
  const auto text = [](const std::vector<std::byte>& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size() - 4);
  };
  EXPECT_EQ(
      text(encode_trace_header(header)),
      std::string("SLRT\1\0\0\0\2\0\0\0\1\0\0\0\x9\0\0\0\1\0\0\0\xff\0\0\0\0\0\0\0\0\0\0\0", 36));
  RoutePass pass{.number = 3, .kind = PassKind::kDecode, .rows = {{{5}, 6, 7}}};
  pass.experts = {8};
  pass.weights = {1.0f};
  EXPECT_EQ(text(encode_pass(header, pass)),
            std::string("PASS\1\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                        "\5\0\0\0\6\0\0\0\7\0\0\0\x8\0\0\0\x80\x3f",
                        42));
}

TEST(RouteTrace, ACutOrDamagedEndIsLeftOut) {
  const TestPath path(".slrt");
  {
    RouteTraceWriter writer(path.get(), kHeader);
    for (int i = 0; i < 2; ++i) {
      RoutePass pass = sample_pass(2);
      writer.append(pass);
    }
  }
  const std::string whole = path.bytes();
  const size_t first_end = kTraceHeaderBytes + pass_bytes(kHeader, 2);
  for (size_t cut = first_end; cut < whole.size(); ++cut) {
    path.write(whole.substr(0, cut));
    EXPECT_EQ(passes_in(path, cut - first_end).size(), 1u) << cut;
    std::string damaged = whole;
    damaged[cut] = static_cast<char>(damaged[cut] ^ 0x40);
    path.write(damaged);
    EXPECT_EQ(passes_in(path, whole.size() - first_end).size(), 1u) << cut;
  }
}

TEST(RouteTrace, ADamagedHeaderIsRefused) {
  const TestPath path(".slrt");
  {
    const RouteTraceWriter writer(path.get(), kHeader);
  }
  const std::string whole = path.bytes();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    path.write(damaged);
    EXPECT_THAT(refusal([&] { (void)RouteTraceReader(path.get()); }),
                HasSubstr(path.get().string()))
        << i;
    path.write(whole.substr(0, i));
    EXPECT_THAT(refusal([&] { (void)RouteTraceReader(path.get()); }),
                HasSubstr("not a route trace"))
        << i;
  }
}

TEST(RouteTrace, ARecordThatCannotBeOfTheModelIsRefused) {
  struct Case {
    const char* name;
    std::vector<uint16_t> first_row;
    uint32_t kind;
  };
  for (const Case& c : {Case{"too large", {1, 300}, 0}, Case{"twice", {4, 4}, 0},
                        Case{"descending", {5, 4}, 0}, Case{"kind", {1, 257}, 2}}) {
    RoutePass pass = sample_pass(2);
    std::ranges::copy(c.first_row, pass.experts.begin());
    pass.kind = static_cast<PassKind>(c.kind);
    const std::vector<std::byte> record = encode_pass(kHeader, pass);
    EXPECT_THAT(refusal([&] { (void)parse_pass(kHeader, record, "a.slrt", pass); }),
                HasSubstr("a.slrt"))
        << c.name;
  }
}

// They are kept free for later versions, so that none of them is taken for this one.
TEST(RouteTrace, ReservedFieldsMustBeZero) {
  const auto with_bit = [](std::vector<std::byte> bytes, size_t at) {
    bytes[at] = std::byte{1};
    const uint32_t crc = crc32(std::span(bytes).first(bytes.size() - sizeof(uint32_t)));
    std::memcpy(bytes.data() + bytes.size() - sizeof crc, &crc, sizeof crc);
    return bytes;
  };
  const std::vector<std::byte> header = with_bit(encode_trace_header(kHeader), 32);
  EXPECT_THAT(refusal([&] { (void)parse_trace_header(header, "a.slrt"); }), HasSubstr("damaged"));
  RoutePass pass = sample_pass(1);
  const std::vector<std::byte> record = with_bit(encode_pass(kHeader, pass), 20);
  EXPECT_THAT(refusal([&] { (void)parse_pass(kHeader, record, "a.slrt", pass); }),
              HasSubstr("a.slrt: pass 0"));
}

TEST(RouteTrace, GoesOnAtAMark) {
  const TestPath path(".slrt");
  RoutePass first = sample_pass(2), lost = sample_pass(5), second = sample_pass(1);
  RouteTraceMark mark;
  {
    RouteTraceWriter writer(path.get(), kHeader);
    writer.append(first);
    mark = writer.sync();
    writer.append(lost);
  }
  {
    RouteTraceWriter writer(path.get(), kHeader, mark);
    writer.append(second);
  }
  EXPECT_EQ(second.number, 1u);
  EXPECT_EQ(passes_in(path), (std::vector<RoutePass>{first, second}));

  RouteTraceHeader other = kHeader;
  other.fingerprint += 1;
  EXPECT_THAT(refusal([&] { const RouteTraceWriter writer(path.get(), other, mark); }),
              HasSubstr("another model"));
  EXPECT_EQ(passes_in(path).size(), 2u);
  std::filesystem::resize_file(path.get(), mark.bytes - 1);
  EXPECT_THAT(refusal([&] { const RouteTraceWriter writer(path.get(), kHeader, mark); }),
              HasSubstr("start anew"));
}

TEST(RouteTrace, AModelThatItCannotHoldIsRefused) {
  const TestPath path(".slrt");
  RouteTraceHeader header = kHeader;
  header.experts = 65537;
  EXPECT_THAT(refusal([&] { const RouteTraceWriter writer(path.get(), header); }),
              HasSubstr("number of experts"));
  EXPECT_FALSE(std::filesystem::exists(path.get()));
}

}  // namespace
}  // namespace sluice::format
