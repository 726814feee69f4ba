#pragma once
#include "base/types.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// What a shell offers as the value of an option or argument.
enum class Completion : uint8_t { kNothing, kFile, kFolder };

/// The words of a declaration. `value` names the value in help texts.
struct OptionText {
  std::string name;   ///< Without dashes.
  std::string value;  ///< Empty for flags.
  std::string help;   ///< No full stop at the end.
};

/// Inclusive limits of a number.
template <class T>
struct Limits {
  T low, high;
};

/// One option, or one argument that stands without a name.
struct Option {
  OptionText text;
  std::string group;     ///< Heading under which help shows it.
  std::string fallback;  ///< Its default in words; empty when there is none to tell.
  std::vector<std::string> choices;
  Completion completion = Completion::kNothing;
  bool positional = false;
  bool required = false;
  bool repeated = false;  ///< Takes all arguments that follow.
  bool seen = false;
  std::string needs;  ///< The option without which this one means nothing; may be empty.
  /// Takes the value and the name to use in messages.
  std::function<void(std::string_view value, const std::string& name)> store;

  [[nodiscard]] bool is_flag() const { return !positional && text.value.empty(); }
};

/// The options of one command. Each is declared once, bound to the variable that receives it;
/// parsing, help, the shell completion and the manual page all read this list. The variable's value
/// at the time of the declaration is the default. Bound variables must outlive it.
class OptionList {
 public:
  /// Options declared from here on belong under this heading.
  void group(std::string heading) { group_ = std::move(heading); }

  void argument(OptionText text, std::string& to, Completion completion);  ///< Must be given.
  void optional_argument(OptionText text, std::string& to, std::vector<std::string> choices);
  void optional_argument(OptionText text, std::string& to, Completion completion);
  /// Any number of them, at the end of the arguments; `least` is 0 or 1.
  void arguments(OptionText text, std::vector<std::string>& to, Completion completion,
                 size_t least);
  void flag(OptionText text, bool& to);
  void string(OptionText text, std::string& to, Completion completion = Completion::kNothing);
  /// Distinguishes an empty text from none.
  void maybe(OptionText text, std::optional<std::string>& to);
  /// May be given several times.
  void strings(OptionText text, std::vector<std::string>& to,
               Completion completion = Completion::kNothing);
  void choice(OptionText text, std::string& to, std::vector<std::string> choices);
  void number(OptionText text, uint32_t& to, Limits<uint32_t> limits);
  void number(OptionText text, uint64_t& to, Limits<uint64_t> limits);
  void number(OptionText text, double& to, Limits<double> limits);
  void number(OptionText text, float& to, Limits<float> limits);
  /// Numbers, comma-separated.
  void numbers(OptionText text, std::vector<uint32_t>& to, Limits<uint32_t> limits);
  void bytes(OptionText text, uint64_t& to);  ///< As parse_bytes() reads them.
  /// The same, comma-separated.
  void sizes(OptionText text, std::vector<uint64_t>& to);
  void ids(OptionText text, std::vector<TokenId>& to);  ///< Token ids, comma-separated.

  /// Replaces the default that help shows for the option declared last, where the variable's value
  /// would say nothing ("0").
  void describe_default(std::string text) { options_.back().fallback = std::move(text); }

  /// The option declared last means nothing unless `other` is given too, and is then refused.
  void needs(std::string other) { options_.back().needs = std::move(other); }

  /// Stores the values of "--name value", "--name=value" and bare arguments. Throws
  /// Error(kInvalidInput) that names what is unknown (and what may have been meant), missing or out
  /// of range.
  void parse(std::span<const std::string_view> arguments);
  [[nodiscard]] std::span<const Option> all() const { return options_; }

 private:
  using Store = std::function<void(std::string_view, const std::string&)>;
  Option& add(OptionText text, std::string fallback, Store store);
  template <class T>
  void add_number(OptionText text, T& to, Limits<T> limits);
  [[nodiscard]] Option* find(std::string_view name);
  void store_argument(std::string_view value);

  std::vector<Option> options_;
  std::string group_ = "Options";
};

/// The candidate that `word` was probably meant to be; empty when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string> candidates);

}  // namespace sluice::cli
