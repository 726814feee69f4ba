// What is written must be what is read back, and a file that was not finished must not look like
// one that was: without this a full disk would leave damaged checkpoints behind.
#include "format/safetensors_writer.h"

#include "base/error.h"
#include "format/safetensors.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;

class WriterTest : public testing::Test {
 protected:
  WriterTest() { fs::create_directories(folder_); }
  ~WriterTest() override { fs::remove_all(folder_); }

  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string contents(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const fs::path folder_ =
      fs::path(SLUICE_BINARY_DIR) / ("writer-test-" + std::to_string(::getpid()));
};

TEST_F(WriterTest, SafetensorsRoundTrip) {
  const fs::path path = folder_ / "x.safetensors";
  const std::string big(3'000'000, 'b');  // Larger than the writer's buffer.
  SafetensorsWriter writer(
      path, {{"z", "U8", {3, 1'000'000}, 3'000'000}, {"a \"quoted\"", "F32", {}, 4}});
  writer.write(std::as_bytes(std::span(big).first(1000)));
  writer.write(std::as_bytes(std::span(big).subspan(1000)));
  const float value = 1.5f;
  writer.write(std::as_bytes(std::span(&value, 1)));
  writer.commit();

  const std::string file = contents(path);
  const uint64_t length =
      header_length(std::as_bytes(std::span(file)).first(8), file.size(), path.string());
  EXPECT_EQ(length % 8, 0u);
  std::vector<std::string> names;
  parse_header(std::string_view(file).substr(8, length), file.size(), path.string(),
               [&](const HeaderTensor& tensor) {
                 names.emplace_back(tensor.name);
                 const std::string_view data =
                     std::string_view(file).substr(tensor.offset, tensor.bytes);
                 if (tensor.name == "z") {
                   EXPECT_EQ(data, big);
                 } else {
                   EXPECT_EQ(data, std::string_view("\0\0\xc0\x3f", 4));
                 }
               });
  EXPECT_THAT(names, testing::UnorderedElementsAre("z", "a \"quoted\""));
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriterTest, SkippedDataAreAHole) {
  const fs::path path = folder_ / "hole.safetensors";
  constexpr uint64_t kBytes = uint64_t{1} << 40;
  SafetensorsWriter writer(path, {{"x", "U8", {kBytes}, kBytes}});
  writer.skip_rest();
  writer.commit();
  EXPECT_GT(fs::file_size(path), kBytes);
}

TEST_F(WriterTest, UnfinishedFileLeavesNothing) {
  const fs::path path = folder_ / "kept";
  std::ofstream(path) << "before";
  {
    OutputFile file(path);
    file.write("half");
  }
  EXPECT_EQ(contents(path), "before");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriterTest, FailureNamesThePath) {
  const auto error_of = [](const fs::path& path, size_t bytes) -> Error {
    try {
      OutputFile file(path);
      file.write(std::string(bytes, ' '));
      file.commit();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return {ErrorCode::kCancelled, "none"};
  };
  const Error missing = error_of(folder_ / "none" / "x", 1);
  EXPECT_EQ(missing.code(), ErrorCode::kIo);
  EXPECT_THAT(missing.what(), testing::HasSubstr((folder_ / "none" / "x").string()));
  // The temporary file is a link to a device that is always full.
  fs::create_symlink("/dev/full", folder_ / "x.tmp");
  const Error full = error_of(folder_ / "x", 3'000'000);
  EXPECT_EQ(full.code(), ErrorCode::kIo);
  EXPECT_THAT(full.what(), testing::HasSubstr("make room"));
}

TEST_F(WriterTest, Npy) {
  const fs::path path = folder_ / "x.npy";
  NpyWriter writer(path, 2);
  const float rows[] = {1, 2, 3, 4, 5, 6};
  writer.append(std::span(rows).first(2));
  writer.append(std::span(rows).subspan(2));
  writer.commit();
  const std::string file = contents(path);
  ASSERT_EQ(file.size(), 128 + sizeof rows);
  EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(file.find("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"), 10u);
  EXPECT_EQ(file[127], '\n');
  EXPECT_EQ(std::memcmp(file.data() + 128, rows, sizeof rows), 0);
}

}  // namespace
}  // namespace sluice::format
