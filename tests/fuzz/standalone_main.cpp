// Replays a corpus through a fuzz target without libFuzzer, so that every compiler and sanitizer
// runs each input that was ever worth keeping. Without it a fixed crash could come back unseen.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

// Sorted, so that two runs print the same.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool replay(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return false;
  // Exactly as long as the input and on the heap, so that a read past the end is seen by
  // AddressSanitizer.
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  const std::vector<fs::path> files = files_of(argv[1]);
  if (files.empty()) {
    std::fprintf(stderr, "%s: no corpus file; add at least one small valid input\n", argv[1]);
    return 1;
  }
  for (const fs::path& path : files) {
    // Printed before the call: after a crash the last line names the input.
    std::printf("%s\n", path.filename().c_str());
    std::fflush(stdout);
    if (!replay(path)) {
      std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
      return 1;
    }
  }
  std::printf("%zu inputs\n", files.size());
  return 0;
}
