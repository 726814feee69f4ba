// The first command of a newcomer names no model: without these a build or an installation could
// fail to find the one that comes with it.
#include "cli/default_model.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

TEST(DefaultModel, LiesBesideAnInstallationOrInTheSourceTree) {
  const fs::path top = fs::path(SLUICE_BINARY_DIR) / "default-model-test";
  struct Case {
    const char* program;
    const char* model;
    bool found;
  };
  for (const Case& c : {
           Case{"usr/bin/sluice", "usr/share/sluice/models/nano", true},
           Case{"tree/build/release/bin/sluice", "tree/models/nano", true},
           Case{"tree/deep/build/release/bin/sluice", "tree/models/nano", false},
           Case{"usr/bin/sluice", "usr/bin/nano", false},
       }) {
    SCOPED_TRACE(std::string(c.program) + " " + c.model);
    fs::remove_all(top);
    fs::create_directories(top / c.model);
    // A folder alone is no model.
    const fs::path installed =
        (top / c.program).parent_path().parent_path() / "share/sluice/models/nano";
    EXPECT_EQ(default_model_of(top / c.program), installed);
    std::ofstream(top / c.model / "config.json") << "{}";
    EXPECT_EQ(default_model_of(top / c.program), c.found ? top / c.model : installed);
  }
}

}  // namespace
}  // namespace sluice::cli
