#include "cli/pack_targets.h"

#include "base/error.h"
#include "cli/size_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace sluice::cli {
namespace {

std::pair<std::string, std::string> split(const std::string& value, const char* form) {
  const size_t equals = value.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == value.size()) {
    throw Error(ErrorCode::kInvalidInput, "\"{}\" is not of the form {}", value, form);
  }
  return {value.substr(0, equals), value.substr(equals + 1)};
}

// A folder may have colons in its name; what follows the last one is a size when it begins as one.
model::PackTarget parse_target(const std::string& value) {
  auto [label, place] = split(value, "--to NAME=DIR or --to NAME=DIR:BYTES");
  model::PackTarget target{.label = std::move(label), .folder = {}};
  const size_t colon = place.rfind(':');
  const bool sized = colon != std::string::npos && colon > 0 && colon + 1 < place.size() &&
                     std::isdigit(static_cast<unsigned char>(place[colon + 1])) != 0;
  if (sized) {
    target.limit_bytes = parse_bytes(place.substr(colon + 1), "--to " + value);
    place.resize(colon);
  }
  target.folder = place;
  return target;
}

}  // namespace

std::map<std::string, double> parse_rates(const std::vector<std::string>& values) {
  constexpr double kMegabyte = 1e6, kRateMax = 1e6;
  std::map<std::string, double> rates;
  for (const std::string& value : values) {
    const auto [label, text] = split(value, "--rate NAME=MB/s");
    double rate = 0.0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, rate);
    if (error != std::errc{} || rest != end || !(rate >= 0.0 && rate <= kRateMax)) {
      throw Error(ErrorCode::kInvalidInput,
                  "--rate {}: \"{}\" is not a number of MB/s from 0 to {}", value, text, kRateMax);
    }
    rates[label] = rate * kMegabyte;
  }
  return rates;
}

std::map<std::string, uint64_t> parse_rooms(const std::vector<std::string>& values) {
  std::map<std::string, uint64_t> rooms;
  for (const std::string& value : values) {
    const auto [label, text] = split(value, "--room NAME=BYTES");
    rooms[label] = parse_bytes(text, "--room " + value);
  }
  return rooms;
}

std::vector<model::PackTarget> parse_targets(const std::vector<std::string>& to,
                                             const std::vector<std::string>& rates) {
  std::vector<model::PackTarget> targets;
  for (const std::string& value : to) targets.push_back(parse_target(value));
  for (const auto& [label, rate] : parse_rates(rates)) {
    const auto target = std::ranges::find(targets, label, &model::PackTarget::label);
    if (target == targets.end()) {
      throw Error(ErrorCode::kInvalidInput, "--rate {0}=: no --to names a volume {0}", label);
    }
    target->rate = rate;
  }
  return targets;
}

}  // namespace sluice::cli
