#pragma once
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace sluice::golden {

/// One tensor of a golden file, with integers kept apart.
struct GoldenTensor {
  std::vector<uint64_t> shape;
  std::vector<float> floats;      ///< F32
  std::vector<int32_t> integers;  ///< I32
  [[nodiscard]] size_t cols() const { return shape.back(); }
};
using GoldenFile = std::map<std::string, GoldenTensor>;

/// Reads a golden .safetensors file (F32 and I32). Fails the test run when it is damaged.
[[nodiscard]] GoldenFile read_golden(const std::filesystem::path& path);

/// A model with its golden prompts.
struct GoldenCase {
  std::string name;                ///< "tiny13/p37"
  std::filesystem::path model;     ///< Checkpoint folder.
  std::filesystem::path golden;    ///< .safetensors, or golden.json of the two oldest models.
  bool holds_modules = false;      ///< Inputs and outputs of every module, not only logits.
  double logits_tolerance = 1e-3;  ///< Largest absolute error of an fp32 engine.
};
/// Names it in the output of tests.
void PrintTo(const GoldenCase& golden, std::ostream* out);
/// Every case whose files exist here: the one in the repository, and those of the shared oracle
/// when its data is present and its models have been written.
[[nodiscard]] std::vector<GoldenCase> golden_cases();
/// Where the oracle's checkpoints are expected.
[[nodiscard]] std::filesystem::path oracle_models();

}  // namespace sluice::golden
