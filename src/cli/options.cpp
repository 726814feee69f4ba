#include "cli/options.h"

#include "base/error.h"
#include "cli/size_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(last, row);
  }
  return last.back();
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kInvalidInput, what); }

template <class T>
T parse_number(std::string_view text, std::string_view option, Limits<T> limits) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  // "-1" for an unsigned number or 99999999999 for a short one: a number, only out of range.
  double wide = 0.0;
  const auto wide_result = std::from_chars(text.data(), end, wide);
  const bool is_number = wide_result.ec != std::errc::invalid_argument && wide_result.ptr == end;
  if (!is_number) refuse(fmt::format("{}: \"{}\" is not a number", option, text));
  if (error != std::errc{} || rest != end || !(value >= limits.low && value <= limits.high)) {
    const char* const kind = std::is_integral_v<T> ? "a whole number" : "a number";
    refuse(fmt::format("{}: {} is out of range; give {} from {} to {}", option, text, kind,
                       limits.low, limits.high));
  }
  return value;
}

std::vector<uint32_t> parse_numbers(std::string_view text, std::string_view option,
                                    Limits<uint32_t> limits) {
  std::vector<uint32_t> numbers;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    numbers.push_back(parse_number<uint32_t>(text.substr(0, comma), option, limits));
    if (comma == text.size()) return numbers;
    text.remove_prefix(comma + 1);
  }
}

uint64_t parse_size(std::string_view text, const std::string& option) {
  const uint64_t bytes = parse_bytes(text, option);
  if (bytes == 0) refuse(fmt::format("{} must be more than 0 bytes", option));
  return bytes;
}

std::string shown(const Option& option) {
  return option.positional ? option.text.name : "--" + option.text.name;
}

std::string join(std::span<const std::string> words) {
  return fmt::format("{}", fmt::join(words.begin(), words.end(), ", "));
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string_view best;
  // A third of the letters may differ; more is another word.
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

Option& OptionList::add(OptionText text, std::string fallback, Store store) {
  Option option;
  option.text = std::move(text);
  option.group = group_;
  option.fallback = std::move(fallback);
  option.store = std::move(store);
  return options_.emplace_back(std::move(option));
}

void OptionList::argument(OptionText text, std::string& to, Completion completion) {
  Option& option =
      add(std::move(text), "", [&to](std::string_view value, const std::string&) { to = value; });
  option.positional = option.required = true;
  option.completion = completion;
}

void OptionList::optional_argument(OptionText text, std::string& to,
                                   std::vector<std::string> choices) {
  choice(std::move(text), to, std::move(choices));
  options_.back().positional = true;
}

void OptionList::optional_argument(OptionText text, std::string& to, Completion completion) {
  argument(std::move(text), to, completion);
  options_.back().required = false;
}

void OptionList::arguments(OptionText text, std::vector<std::string>& to, Completion completion,
                           size_t least) {
  Option& option = add(std::move(text), "", [&to](std::string_view value, const std::string&) {
    to.emplace_back(value);
  });
  option.positional = option.repeated = true;
  option.required = least > 0;
  option.completion = completion;
}

void OptionList::flag(OptionText text, bool& to) {
  add(std::move(text), "", [&to](std::string_view, const std::string&) { to = true; });
}

void OptionList::string(OptionText text, std::string& to, Completion completion) {
  add(std::move(text), to, [&to](std::string_view value, const std::string&) {
    to = value;
  }).completion = completion;
}

void OptionList::maybe(OptionText text, std::optional<std::string>& to) {
  add(std::move(text), "",
      [&to](std::string_view value, const std::string&) { to = std::string(value); });
}

void OptionList::strings(OptionText text, std::vector<std::string>& to, Completion completion) {
  add(std::move(text), "", [&to](std::string_view value, const std::string&) {
    to.emplace_back(value);
  }).completion = completion;
}

void OptionList::choice(OptionText text, std::string& to, std::vector<std::string> choices) {
  auto store = [&to, choices](std::string_view value, const std::string& name) {
    if (std::ranges::find(choices, value) == choices.end()) {
      refuse(fmt::format("{}: \"{}\" is not one of {}", name, value, join(choices)));
    }
    to = value;
  };
  add(std::move(text), to, std::move(store)).choices = choices;
}

template <class T>
void OptionList::add_number(OptionText text, T& to, Limits<T> limits) {
  add(std::move(text), fmt::format("{}", to),
      [&to, limits](std::string_view value, const std::string& name) {
        to = parse_number<T>(value, name, limits);
      });
}

void OptionList::number(OptionText text, uint32_t& to, Limits<uint32_t> limits) {
  add_number(std::move(text), to, limits);
}
void OptionList::number(OptionText text, uint64_t& to, Limits<uint64_t> limits) {
  add_number(std::move(text), to, limits);
}
void OptionList::number(OptionText text, double& to, Limits<double> limits) {
  add_number(std::move(text), to, limits);
}
void OptionList::number(OptionText text, float& to, Limits<float> limits) {
  add_number(std::move(text), to, limits);
}

void OptionList::numbers(OptionText text, std::vector<uint32_t>& to, Limits<uint32_t> limits) {
  add(std::move(text), fmt::format("{}", fmt::join(to, ",")),
      [&to, limits](std::string_view value, const std::string& name) {
        to = parse_numbers(value, name, limits);
      });
}

void OptionList::bytes(OptionText text, uint64_t& to) {
  add(std::move(text), "",
      [&to](std::string_view value, const std::string& name) { to = parse_size(value, name); });
}

void OptionList::sizes(OptionText text, std::vector<uint64_t>& to) {
  add(std::move(text), "", [&to](std::string_view value, const std::string& name) {
    to.clear();
    while (true) {
      const size_t comma = std::min(value.find(','), value.size());
      to.push_back(parse_size(value.substr(0, comma), name));
      if (comma == value.size()) return;
      value.remove_prefix(comma + 1);
    }
  });
}

void OptionList::ids(OptionText text, std::vector<TokenId>& to) {
  add(std::move(text), "", [&to](std::string_view value, const std::string& name) {
    constexpr uint32_t kIdMax = 0x7fffffff;
    to.clear();
    for (const uint32_t id : parse_numbers(value, name, {0, kIdMax})) {
      to.push_back(TokenId{static_cast<int32_t>(id)});
    }
  });
}

Option* OptionList::find(std::string_view name) {
  const auto found = std::ranges::find_if(options_, [&](const Option& option) {
    return !option.positional && option.text.name == name;
  });
  return found == options_.end() ? nullptr : &*found;
}

void OptionList::store_argument(std::string_view value) {
  for (Option& option : options_) {
    if (!option.positional || (option.seen && !option.repeated)) continue;
    option.seen = true;
    option.store(value, shown(option));
    return;
  }
  refuse(fmt::format("unexpected argument \"{}\"", value));
}

void OptionList::parse(std::span<const std::string_view> arguments) {
  bool options_end = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (options_end || !word.starts_with('-') || word == "-") {
      store_argument(word);
      continue;
    }
    if (word == "--") {
      options_end = true;
      continue;
    }
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals).substr(word.starts_with("--") ? 2 : 1);
    Option* const option = word.starts_with("--") ? find(name) : nullptr;
    if (option == nullptr) {
      std::vector<std::string> names;
      for (const Option& known : options_) {
        if (!known.positional) names.push_back(known.text.name);
      }
      const std::string_view meant = nearest(name, names);
      refuse(fmt::format("unknown option {}{}", word.substr(0, equals),
                         meant.empty() ? "; --help lists the options"
                                       : fmt::format("; did you mean --{}?", meant)));
    }
    option->seen = true;
    if (equals < word.size()) {
      if (option->is_flag()) refuse(fmt::format("{} takes no value", shown(*option)));
      option->store(word.substr(equals + 1), shown(*option));
    } else if (option->is_flag()) {
      option->store({}, shown(*option));
    } else {
      // A value that looks like an option is far more often a forgotten value.
      if (i + 1 == arguments.size() || arguments[i + 1].starts_with("--")) {
        refuse(fmt::format("--{0} needs a value: --{0}={1}", name, option->text.value));
      }
      option->store(arguments[++i], shown(*option));
    }
  }
  for (const Option& option : options_) {
    if (option.required && !option.seen) refuse(fmt::format("{} is missing", shown(option)));
    if (option.seen && !option.needs.empty() && !find(option.needs)->seen) {
      refuse(fmt::format("{} means nothing without --{}", shown(option), option.needs));
    }
  }
}

}  // namespace sluice::cli
