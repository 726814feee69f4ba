#include "cli/default_model.h"

#include <system_error>

namespace sluice::cli {
namespace {

constexpr const char* kInstalled = "share/sluice/models/nano";
constexpr const char* kSource = "models/nano";
// From build/PRESET/bin/sluice to the source tree.
constexpr int kFoldersUp = 4;

bool is_model(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / "config.json", ignored);
}

}  // namespace

std::filesystem::path default_model_of(const std::filesystem::path& program) {
  std::filesystem::path around = program.parent_path();
  for (int i = 0; i < kFoldersUp; ++i) {
    for (const char* place : {kInstalled, kSource}) {
      if (is_model(around / place)) return around / place;
    }
    around = around.parent_path();
  }
  return program.parent_path().parent_path() / kInstalled;
}

std::string default_model() {
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return unknown ? kSource : default_model_of(program).string();
}

}  // namespace sluice::cli
