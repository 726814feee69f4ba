// Opening must find every file that is missing, cut off or of another version before a weight is
// used: without it the engine would start on such a checkpoint and answer nonsense.
#include "format/checkpoint.h"

#include "base/error.h"
#include "format/safetensors_writer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <new>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

std::atomic<size_t> largest_allocation{0};

}  // namespace

// Every allocation of the program passes here, so that a test can say what the largest was.
// Not inlined: a compiler that sees one half of a pair warns of a mismatch.
[[gnu::noinline]] void* operator new(size_t bytes) {
  size_t largest = largest_allocation;
  while (bytes > largest && !largest_allocation.compare_exchange_weak(largest, bytes)) {
  }
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace sluice::format {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kIndex = "model.safetensors.index.json";

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    fs::create_directories(folder_);
    write("config.json", "{}");
  }
  ~CheckpointTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  /// A shard of one U8 tensor of `bytes` bytes for each name.
  void shard(const std::string& file, const std::vector<std::string>& names,
             uint64_t bytes = 4) const {
    std::vector<WriterTensor> tensors;
    for (const std::string& name : names) tensors.push_back({name, "U8", {bytes}, bytes});
    SafetensorsWriter writer(folder_ / file, std::move(tensors));
    const std::string data(names.size() * bytes, 'x');
    writer.write(std::as_bytes(std::span(data)));
    writer.commit();
  }

  void index(const std::vector<std::pair<std::string, std::string>>& entries,
             std::string_view metadata = "{}") const {
    std::string map;
    for (const auto& [tensor, file] : entries) {
      map += fmt::format("{}\"{}\": \"{}\"", map.empty() ? "" : ", ", tensor, file);
    }
    write(kIndex, fmt::format("{{\"metadata\": {}, \"weight_map\": {{{}}}}}", metadata, map));
  }

  [[nodiscard]] Error error() const {
    try {
      Checkpoint checkpoint(folder_);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "opened";
    return {ErrorCode::kCancelled, "none"};
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  const fs::path folder_ =
      fs::path(SLUICE_BINARY_DIR) / ("checkpoint-test-" + std::to_string(::getpid()));
};

TEST_F(CheckpointTest, OpensShardsInTheOrderOfTheirNames) {
  shard("b.safetensors", {"x", "y"}, 5);
  shard("a.safetensors", {"z", "vision_tower.v"});
  index({{"y", "b.safetensors"},
         {"vision_tower.v", "a.safetensors"},
         {"x", "b.safetensors"},
         {"z", "a.safetensors"}},
        R"({"total_size": 18, "other": [1]})");
  const Checkpoint checkpoint(folder_);
  EXPECT_EQ(checkpoint.folder(), folder_);
  EXPECT_EQ(checkpoint.config_json(), "{}");
  ASSERT_EQ(checkpoint.files().size(), 2u);
  EXPECT_EQ(checkpoint.files()[0].path, folder_ / "a.safetensors");
  EXPECT_EQ(checkpoint.files()[1].bytes, fs::file_size(folder_ / "b.safetensors"));
  EXPECT_EQ(checkpoint.tensor_count(), 3u);  // Without the vision part.
  EXPECT_EQ(checkpoint.tensor_bytes(), 18u);
  const TensorInfo* y = checkpoint.find("y");
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->shard.value, 1);
  EXPECT_EQ(y->offset, checkpoint.files()[1].bytes - 5);
  EXPECT_EQ(y->bytes, 5u);
  EXPECT_EQ(checkpoint.find("vision_tower.v"), nullptr);
  EXPECT_EQ(checkpoint.find("none"), nullptr);
}

TEST_F(CheckpointTest, OpensWithoutAnIndex) {
  shard("model.safetensors", {"x"});
  write("._model.safetensors", std::string("\0\5\26\7\0\2\0\0", 8));
  write("notes.txt", "");
  EXPECT_EQ(Checkpoint(folder_).tensor_count(), 1u);
  shard("more.safetensors", {"y"});
  EXPECT_EQ(Checkpoint(folder_).tensor_count(), 2u);
  shard("twice.safetensors", {"x"});
  EXPECT_THAT(error().what(),
              AllOf(HasSubstr("model.safetensors"), HasSubstr("tensor x also stands in"),
                    HasSubstr("twice.safetensors")));
}

TEST_F(CheckpointTest, WhatAMacLeavesBesideAShardIsIgnored) {
  shard("model-00001-of-000001.safetensors", {"x"});
  write("._model-00001-of-000001.safetensors", std::string("\0\5\26\7\0\2\0\0", 8));
  index({{"x", "model-00001-of-000001.safetensors"}});
  EXPECT_EQ(Checkpoint(folder_).tensor_count(), 1u);
}

TEST_F(CheckpointTest, FilesThatAreMissing) {
  const Error none = error();
  EXPECT_EQ(none.code(), ErrorCode::kNotFound);
  EXPECT_THAT(none.what(), HasSubstr(folder_.string()));
  shard("a.safetensors", {"x"});
  index({{"x", "a.safetensors"}, {"y", "b.safetensors"}, {"z", "c.safetensors"}});
  const Error missing = error();
  EXPECT_EQ(missing.code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.what(), HasSubstr("2 of 3 shards are missing: b.safetensors, c.safetensors"));
  fs::remove(folder_ / "config.json");
  EXPECT_THAT(error().what(), HasSubstr(path("config.json")));
  fs::remove_all(folder_);
  EXPECT_EQ(error().code(), ErrorCode::kNotFound);
}

TEST_F(CheckpointTest, IndexAndShardsMustNameTheSameTensors) {
  shard("a.safetensors", {"x", "extra"});
  index({{"x", "a.safetensors"}});
  EXPECT_THAT(error().what(), AllOf(HasSubstr(path("a.safetensors")), HasSubstr("tensor extra")));

  shard("a.safetensors", {"x"});
  shard("b.safetensors", {"y"});
  index({{"x", "b.safetensors"}, {"y", "a.safetensors"}});
  EXPECT_THAT(error().what(),
              AllOf(HasSubstr("a.safetensors"), HasSubstr("x"), HasSubstr("another")));

  index({{"x", "a.safetensors"}, {"y", "b.safetensors"}, {"x", "a.safetensors"}});
  EXPECT_THAT(error().what(), HasSubstr("tensor x stands in the index twice"));
}

TEST_F(CheckpointTest, ExpertWithFiveOfSixTensorsIsListed) {
  const std::string expert = "model.layers.1.block_sparse_moe.experts.7.";
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> entries;
  for (const char* part : {"w1", "w2", "w3"}) {
    for (const char* kind : {"weight_packed", "weight_scale"}) {
      names.push_back(expert + part + "." + kind);
      entries.emplace_back(names.back(), "a.safetensors");
    }
  }
  const std::string lost = names[3];
  names.erase(names.begin() + 3);
  shard("a.safetensors", names);
  index(entries);
  const Error missing = error();
  EXPECT_EQ(missing.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(missing.what(), AllOf(HasSubstr("1 tensors"), HasSubstr(lost + " (a.safetensors)")));
}

TEST_F(CheckpointTest, TotalSizeIsCheckedWhenItIsThere) {
  shard("a.safetensors", {"x"});
  index({{"x", "a.safetensors"}}, R"({"total_size": 5})");
  EXPECT_THAT(error().what(), AllOf(HasSubstr("total_size is 5"), HasSubstr("hold 4 bytes")));
  index({{"x", "a.safetensors"}}, R"({"total_size": "4"})");
  EXPECT_THAT(error().what(), HasSubstr("total_size"));
}

TEST_F(CheckpointTest, IndexThatIsNone) {
  shard("a.safetensors", {"x"});
  const std::string_view indexes[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"weight_map\": []}",
                                      "{\"weight_map\": {\"x\": 1}}",
                                      "{\"weight_map\": {\"x\": \"\"}}",
                                      "{\"weight_map\": {\"x\": \"../a.safetensors\"}}",
                                      "{\"weight_map\": {\"x\": \"/a.safetensors\"}}",
                                      "{\"weight_map\": {\"x\": \".a.safetensors\"}}",
                                      "{\"weight_map\": {\"x\": \"a.safetensors\\u0000\"}}",
                                      "{\"weight_map\": {\"x\": \"a.safetensors\"}} {}",
                                      "{\"weight_map\": {}, \"weight_map\": {}}",
                                      "{\"metadata\": {\"total_size\": -1}, \"weight_map\": {}}"};
  for (const std::string_view text : indexes) {
    write(kIndex, text);
    const Error refused = error();
    EXPECT_EQ(refused.code(), ErrorCode::kCorrupt) << text;
    EXPECT_THAT(refused.what(), HasSubstr(path(kIndex))) << text;
  }
}

// A header that claims more than there is must not be believed before it is checked.
TEST_F(CheckpointTest, NeverAllocatesMoreThanTheFile) {
  const auto le64 = [](uint64_t value) {
    std::string bytes;
    for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
    return bytes;
  };
  constexpr size_t kForMessages = 4096;
  const std::string claims_much =
      R"({"x":{"dtype":"F32","shape":[4294967295,4294967295],"data_offsets":[0,4294967296]}})";
  const std::string_view name = "model.safetensors";
  for (const std::string& file :
       {std::string(), std::string(7, '\0'), le64(1), le64(UINT64_MAX - 3) + "{}", le64(1u << 30),
        le64(kHeaderBytesMax) + "{}", le64(claims_much.size()) + claims_much, le64(2) + "[]",
        le64(100'000) + std::string(100'000, '['), le64(100'000) + std::string(100'000, ' ')}) {
    write(std::string(name), file);
    largest_allocation = 0;
    const Error refused = error();
    EXPECT_LE(largest_allocation, std::max(file.size(), kForMessages)) << refused.what();
    EXPECT_EQ(refused.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(refused.what(), HasSubstr(path(std::string(name))));
  }
  // 200 MB of blanks: more than any header, so not even read.
  write(std::string(name), le64(200'000'000));
  fs::resize_file(folder_ / name, 200'000'008);
  largest_allocation = 0;
  EXPECT_THAT(error().what(), HasSubstr("refused"));
  EXPECT_LE(largest_allocation, kForMessages);
  // Nor is a config that is none.
  fs::resize_file(folder_ / "config.json", 17u << 20);
  EXPECT_THAT(error().what(), HasSubstr("config.json"));
  EXPECT_LE(largest_allocation, kForMessages);
}

TEST_F(CheckpointTest, RequireNamesWhatDiffers) {
  shard("model.safetensors", {"x"}, 6);
  const Checkpoint checkpoint(folder_);
  EXPECT_EQ(checkpoint.require("x", DType::kU8, {6}).bytes, 6u);
  const auto error_of = [&](std::string_view name, DType dtype,
                            std::initializer_list<uint64_t> shape) -> Error {
    try {
      checkpoint.require(name, dtype, shape);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << name;
    return {ErrorCode::kCancelled, "none"};
  };
  EXPECT_EQ(error_of("y", DType::kU8, {6}).code(), ErrorCode::kNotFound);
  const Error shape = error_of("x", DType::kU8, {2, 3});
  EXPECT_EQ(shape.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(shape.what(), AllOf(HasSubstr(path("model.safetensors")), HasSubstr("U8 [6]"),
                                  HasSubstr("U8 [2, 3]")));
  EXPECT_THAT(error_of("x", DType::kF32, {6}).what(), HasSubstr("F32 [6]"));
}

TEST_F(CheckpointTest, ReadsFloatsExactly) {
  const float floats[] = {1.0f, -0.0f, 3.4e38f, 1e-45f};
  const uint16_t halves[] = {0x3f80, 0x8000, 0x7f7f, 0x0001};  // The same, cut to BF16.
  SafetensorsWriter writer(folder_ / "model.safetensors",
                           {{"h", "BF16", {4}, 8}, {"f", "F32", {4}, 16}, {"u", "U8", {1}, 1}});
  writer.write(std::as_bytes(std::span(halves)));
  writer.write(std::as_bytes(std::span(floats)));
  writer.write(std::as_bytes(std::span("x", 1)));
  writer.commit();
  const Checkpoint checkpoint(folder_);
  EXPECT_THAT(checkpoint.read_floats(*checkpoint.find("f")), testing::ElementsAreArray(floats));
  const std::vector<float> cut = checkpoint.read_floats(*checkpoint.find("h"));
  EXPECT_THAT(cut, testing::ElementsAre(1.0f, 0.0f, 0x1.FEp127f, 0x1p-133f));
  EXPECT_TRUE(std::signbit(cut[1]));
  EXPECT_THROW((void)checkpoint.read_floats(*checkpoint.find("u")), Error);
  fs::resize_file(folder_ / "model.safetensors", checkpoint.files()[0].bytes - 20);
  EXPECT_THROW((void)checkpoint.read_floats(*checkpoint.find("f")), Error);
}

}  // namespace
}  // namespace sluice::format
