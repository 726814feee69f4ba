// A header that lies must end with an error that names file and tensor: otherwise weights would be
// read from the wrong place, or from beyond the end of the file.
#include "format/safetensors.h"

#include "base/error.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

using testing::HasSubstr;

const std::string kPath = "folder/model.safetensors";

struct Parsed {
  std::string name;
  DType dtype;
  std::vector<uint32_t> shape;
  uint64_t offset, bytes;
};

std::vector<Parsed> parse(std::string_view json, uint64_t data_bytes) {
  std::vector<Parsed> tensors;
  parse_header(json, 8 + json.size() + data_bytes, kPath, [&](const HeaderTensor& t) {
    tensors.push_back({std::string(t.name),
                       t.dtype,
                       {t.shape.begin(), t.shape.begin() + t.rank},
                       t.offset - 8 - json.size(),
                       t.bytes});
  });
  return tensors;
}

Error error_of(std::string_view json, uint64_t data_bytes) {
  try {
    parse(json, data_bytes);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "accepted: " << json;
  return {ErrorCode::kCancelled, "none"};
}

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                     offsets);
}

TEST(Safetensors, ReadsEveryRankAndDtype) {
  const auto tensors =
      parse("{" + entry("a", "BF16", "[2,3]", "[0,12]") + "," + entry("b", "F32", "[]", "[12,16]") +
                "," + entry("c", "U8", "[1,2,3,4]", "[16,40]") + "," +
                entry("d", "U8", "[0,7]", "[40,40]") + "}",
            40);
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[0].shape, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(tensors[1].dtype, DType::kF32);
  EXPECT_TRUE(tensors[1].shape.empty());
  EXPECT_EQ(tensors[1].bytes, 4u);
  EXPECT_EQ(tensors[2].offset, 16u);
  EXPECT_EQ(tensors[2].shape, (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(tensors[3].bytes, 0u);
}

TEST(Safetensors, OrderBlanksMetadataAndEscapesDoNotMatter) {
  const std::string json = R"( {"__metadata__": {"format": "pt", "more": [{"x": null}]},
      "late":  {"data_offsets": [4, 8], "note": "", "shape": [4], "dtype": "U8"},
      "\u0065arly\n": {"shape": [2], "data_offsets": [0, 4], "dt\u0079pe": "BF\u00316"} }   )";
  const auto tensors = parse(json, 8);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "late");
  EXPECT_EQ(tensors[0].offset, 4u);
  EXPECT_EQ(tensors[1].name, "early\n");
  EXPECT_EQ(tensors[1].dtype, DType::kBF16);
  EXPECT_TRUE(parse("{}", 0).empty());
}

TEST(Safetensors, VisionTensorsAreSkippedButMustBeThere) {
  const std::string both = "{" + entry("vision_tower.x", "F16", "[2]", "[0,4]") + "," +
                           entry("mm_projector.y", "I64", "[1]", "[4,12]") + "}";
  EXPECT_TRUE(parse(both, 12).empty());
  EXPECT_THAT(error_of(both, 11).what(), HasSubstr("mm_projector.y"));
  EXPECT_THAT(error_of("{" + entry("vision_tower.x", "F17", "[2]", "[0,4]") + "}", 4).what(),
              HasSubstr("unknown dtype F17"));
}

struct Refused {
  const char* what;
  std::string json;
  uint64_t data_bytes;
  const char* says;
};

std::vector<Refused> refused() {
  const std::string good = entry("good", "U8", "[4]", "[0,4]");
  const auto one = [](std::string_view shape, std::string_view offsets) {
    return "{" + entry("bad", "F32", shape, offsets) + "}";
  };
  return {
      {"duplicate tensor", "{" + good + "," + good + "}", 4,
       "good stands in the header twice (duplicate"},
      {"duplicate after unescaping",
       "{" + good + "," + entry("g\\u006fod", "U8", "[4]", "[4,8]") + "}", 8, "duplicate"},
      {"hole", "{" + good + "," + entry("bad", "U8", "[4]", "[5,9]") + "}", 9,
       "1 bytes before tensor bad"},
      {"hole at the start", one("[1]", "[4,8]"), 8, "4 bytes before tensor bad"},
      {"tail", "{" + good + "}", 6, "last 2 bytes belong to no tensor"},
      {"overlap", "{" + good + "," + entry("bad", "U8", "[4]", "[2,6]") + "}", 6, "bad overlaps"},
      {"same place twice", "{" + good + "," + entry("bad", "U8", "[4]", "[0,4]") + "}", 4,
       "overlaps"},
      {"data larger than the shape", one("[32,8]", "[0,65536]"), 65536, "bad has 65536 bytes"},
      {"data smaller than the shape", one("[32,8]", "[0,512]"), 512, "[32, 8]"},
      {"one element too many", one("[129]", "[0,512]"), 512, "ask for 516"},
      {"last byte missing", one("[128]", "[0,512]"), 511, "cut off"},
      {"shape that overflows", one("[4294967295,4294967295,4294967295]", "[0,4]"), 4,
       "more than any"},
      {"shape that wraps to the size", one("[4294967296,4294967296,1]", "[0,0]"), 0,
       "more than any"},
      {"offsets that wrap", one("[1]", "[18446744073709551612,18446744073709551615]"), 4, "bad"},
      {"offset beyond 64 bits", one("[1]", "[0,18446744073709551616]"), 4, "no whole number"},
      {"offsets reversed", one("[1]", "[4,0]"), 4, "[4, 0]"},
      {"negative offset", one("[1]", "[-4,0]"), 4, "no whole number"},
      {"float offset", one("[1]", "[0,4.0]"), 4, "no whole number"},
      {"offsets of three", one("[1]", "[0,4,8]"), 4, "more than 2"},
      {"offsets of one", one("[1]", "[4]"), 4, "not two numbers"},
      {"five dimensions", one("[1,1,1,1,1]", "[0,4]"), 4, "more than 4"},
      {"negative shape", one("[-1]", "[0,4]"), 4, "no whole number"},
      {"shape of text", one("\"1\"", "[0,4]"), 4, "no list"},
      {"unknown dtype", "{" + entry("bad", "Q4", "[4]", "[0,4]") + "}", 4,
       "bad has the unknown dtype Q4"},
      {"dtype of another model", "{" + entry("bad", "F16", "[2]", "[0,4]") + "}", 4,
       "bad has dtype F16"},
      {"no dtype", R"({"bad":{"shape":[4],"data_offsets":[0,4]}})", 4, "bad lacks"},
      {"dtype is a number", R"({"bad":{"dtype":8,"shape":[4],"data_offsets":[0,4]}})", 4,
       "not text"},
      {"dtype twice", R"({"bad":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4,
       "duplicate field dtype"},
      {"entry is a list", R"({"bad":[]})", 4, "bad"},
      {"list", "[]", 0, "not a JSON object"},
      {"text", "\"{}\"", 0, "not a JSON object"},
      {"blanks alone", std::string(4096, ' '), 0, "JSON"},
      {"empty", "", 0, "JSON"},
      {"not UTF-8", "{\"\xff\":{}}", 0, "UTF-8"},
      {"cut", "{" + good, 4, "JSON"},
      {"garbage behind", "{" + good + "}x", 4, "JSON"},
      {"zero bytes behind", "{" + good + "}" + std::string(7, '\0'), 4, "JSON"},
      {"nesting bomb", "{\"__metadata__\":" + std::string(100'000, '['), 0, "nests deeper"},
  };
}

TEST(Safetensors, RefusesWithFileAndTensor) {
  for (const Refused& row : refused()) {
    SCOPED_TRACE(row.what);
    const Error error = error_of(row.json, row.data_bytes);
    EXPECT_THAT(error.what(), HasSubstr(kPath));
    EXPECT_THAT(error.what(), HasSubstr(row.says));
    const bool foreign = row.what == std::string_view("dtype of another model");
    EXPECT_EQ(error.code(), foreign ? ErrorCode::kUnsupported : ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr(foreign ? "released checkpoint" : "; fetch the file anew"));
  }
}

TEST(Safetensors, HeaderLength) {
  const auto length = [](uint64_t claimed, uint64_t file_bytes) {
    std::array<std::byte, 8> prefix;
    for (size_t i = 0; i < 8; ++i) prefix[i] = static_cast<std::byte>(claimed >> (8 * i));
    return header_length(prefix, file_bytes, kPath);
  };
  EXPECT_EQ(length(0, 8), 0u);
  EXPECT_EQ(length(12, 20), 12u);
  EXPECT_EQ(length(kHeaderBytesMax, kHeaderBytesMax + 8), kHeaderBytesMax);
  const std::pair<uint64_t, uint64_t> wrong[] = {{13, 20},
                                                 {UINT64_MAX - 3, 1000},  // Wraps when 8 is added.
                                                 {UINT64_MAX, UINT64_MAX},
                                                 {1, 8},
                                                 {0, 0},
                                                 {0, 7},
                                                 {kHeaderBytesMax + 1, kHeaderBytesMax + 9}};
  for (const auto& [claimed, file_bytes] : wrong) {
    EXPECT_THROW((void)length(claimed, file_bytes), Error) << claimed << " of " << file_bytes;
  }
}

}  // namespace
}  // namespace sluice::format
