#include "cli/bench_arms.h"

#include "base/error.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::cli {
namespace {

std::vector<std::string> split_words(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  std::vector<std::string> words;
  char quote = 0;  // The one that is open.
  bool in_word = false;
  for (const char c : text) {
    if (quote == 0 && kBlanks.find(c) != std::string_view::npos) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) throw Error(ErrorCode::kInvalidInput, "a {} is not closed", quote);
  return words;
}

void apply_flags(ModelSettings& settings, std::string_view flags) {
  const ModelSettings common = settings;
  OptionList options;
  declare_model_folder(options, settings);
  declare_model_options(options, settings, "");
  settings = common;
  const std::vector<std::string> words = split_words(flags);
  const std::vector<std::string_view> views(words.begin(), words.end());
  options.parse(views);
  // Here, before anything is measured, rather than when the arm's turn comes.
  (void)load_options(settings);
  if (settings.context != common.context) {
    throw Error(ErrorCode::kInvalidInput,
                "--context is the same for all arms; give it beside --arm");
  }
}

}  // namespace

void in_arm(const BenchArm& arm, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    if (!arm.named) throw;
    throw Error(error.code(), "arm \"{}\": {}", arm.name, error.what());
  }
}

std::vector<BenchArm> parse_arms(std::span<const std::string> values, const ModelSettings& common) {
  if (values.empty()) return {{.name = "default", .flags = "", .settings = common, .named = false}};
  std::vector<BenchArm> arms;
  for (const std::string& value : values) {
    const size_t equals = value.find('=');
    const std::string name = value.substr(0, equals);
    if (equals == std::string::npos || name.empty() || name.find('-') == 0) {
      throw Error(ErrorCode::kInvalidInput,
                  "--arm: \"{}\" is not NAME=FLAGS, for example fast=\"--threads 8\"", value);
    }
    if (std::ranges::find(arms, name, &BenchArm::name) != arms.end()) {
      throw Error(ErrorCode::kInvalidInput, "--arm: there are two with the name \"{}\"", name);
    }
    arms.push_back({.name = name, .flags = value.substr(equals + 1), .settings = common});
    in_arm(arms.back(), [&arm = arms.back()] { apply_flags(arm.settings, arm.flags); });
  }
  return arms;
}

}  // namespace sluice::cli
