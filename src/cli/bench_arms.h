#pragma once
#include "cli/model_options.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

/// One of the settings that a benchmark compares.
struct BenchArm {
  std::string name;
  std::string flags;  ///< As they were given.
  ModelSettings settings;
  bool named = true;  ///< By the user.
};

/// Arms from the values of --arm, "NAME=FLAGS": FLAGS are options of the model, and MODEL itself,
/// and apply over `common`. Blanks separate them; what stands between ' or " is one word. Without
/// values there is one arm "default" that has `common`. Throws Error(kInvalidInput) that names the
/// arm.
[[nodiscard]] std::vector<BenchArm> parse_arms(std::span<const std::string> values,
                                               const ModelSettings& common);

/// Does something for an arm. An Error that it throws names the arm, if the user did.
void in_arm(const BenchArm& arm, const std::function<void()>& action);

}  // namespace sluice::cli
