#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

namespace sluice::format {

/// For tests: a path that nobody else uses; the file goes away with this.
class TestPath {
 public:
  explicit TestPath(const char* suffix)
      : path_(std::filesystem::path(SLUICE_BINARY_DIR) /
              fmt::format("test-{}-{}{}", ::getpid(), next_++, suffix)) {}
  ~TestPath() { std::filesystem::remove(path_); }
  TestPath(const TestPath&) = delete;
  TestPath& operator=(const TestPath&) = delete;

  [[nodiscard]] const std::filesystem::path& get() const { return path_; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

 private:
  static inline int next_ = 0;
  const std::filesystem::path path_;
};

}  // namespace sluice::format
