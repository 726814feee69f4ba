#include "golden_file.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::golden {
namespace {

namespace fs = std::filesystem;

fs::path shared_data() {
  const char* set = std::getenv("SLUICE_K3_DATA");
  return set != nullptr ? fs::path(set) : fs::path(SLUICE_SOURCE_DIR) / "../shared/data";
}

void add_cases(const fs::path& models, const fs::path& goldens, std::vector<GoldenCase>& cases) {
  for (const char* name :
       {"tiny7", "tiny7-eps", "tiny13", "tiny13-eps", "tiny13-smooth", "heads128", "deep93"}) {
    if (!fs::exists(models / name / "config.json")) continue;
    for (const char* prompt : {"p1", "p5", "p37", "p130"}) {
      const fs::path golden = goldens / name / (std::string(prompt) + ".safetensors");
      const bool smooth =
          std::string_view(name) == "tiny13-smooth" || std::string_view(name) == "deep93";
      if (!fs::exists(golden)) continue;
      const bool modules = read_golden(golden).contains("L01.prefix");
      cases.push_back(
          {std::string(name) + "/" + prompt, models / name, golden, modules, smooth ? 1e-4 : 1e-3});
    }
  }
}

}  // namespace

void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.name; }

fs::path oracle_models() {
  const char* set = std::getenv("SLUICE_ORACLE_MODELS");
  return set != nullptr ? fs::path(set) : fs::path(SLUICE_BINARY_DIR) / "oracle-models";
}

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  const fs::path here = fs::path(SLUICE_SOURCE_DIR) / "tests/golden/data";
  add_cases(here / "models", here, cases);
  add_cases(oracle_models(), shared_data() / "../oracle/golden", cases);
  for (const char* name : {"tiny-k3", "tiny-k3b"}) {
    const fs::path model = oracle_models() / name;
    if (fs::exists(model / "golden.json")) {
      cases.push_back({std::string(name) + "/p70", model, model / "golden.json", false, 1e-3});
    }
  }
  return cases;
}

GoldenFile read_golden(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  uint64_t header_bytes = 0;
  EXPECT_GT(bytes.size(), sizeof header_bytes) << path;
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  const auto header = nlohmann::json::parse(bytes.substr(sizeof header_bytes, header_bytes));
  const char* data = bytes.data() + sizeof header_bytes + header_bytes;
  GoldenFile file;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    GoldenTensor& tensor = file[name];
    tensor.shape = entry["shape"].get<std::vector<uint64_t>>();
    const auto begin = entry["data_offsets"][0].get<size_t>(),
               end = entry["data_offsets"][1].get<size_t>();
    if (entry["dtype"] == "F32") {
      tensor.floats.resize((end - begin) / sizeof(float));
      std::memcpy(tensor.floats.data(), data + begin, end - begin);
    } else {
      EXPECT_EQ(entry["dtype"], "I32") << path << " " << name;
      tensor.integers.resize((end - begin) / sizeof(int32_t));
      std::memcpy(tensor.integers.data(), data + begin, end - begin);
    }
  }
  return file;
}

}  // namespace sluice::golden
