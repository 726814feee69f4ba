#include "cli/simulate_options.h"

#include "base/error.h"
#include "cli/size_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace sluice::cli {
namespace {

using simulator::ComputeRates;
using simulator::SimulatedDrive;

/// Takes one value; the second argument is for messages.
struct Field {
  std::string_view name;
  std::function<void(std::string_view value, std::string_view what)> store;
};

std::optional<double> leading_number(std::string_view text, std::string_view& rest) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0)) return std::nullopt;
  rest = text.substr(static_cast<size_t>(end - text.data()));
  return number;
}

double parse_number(std::string_view text, std::string_view what) {
  std::string_view rest;
  const std::optional<double> number = leading_number(text, rest);
  if (number && rest.empty()) return *number;
  throw Error(ErrorCode::kInvalidInput, "{}: \"{}\" is not a number of 0 or more", what, text);
}

double parse_share(std::string_view text, std::string_view what) {
  const double share = parse_number(text, what);
  if (share <= 1) return share;
  throw Error(ErrorCode::kInvalidInput, "{}: {} is not between 0 and 1", what, text);
}

// Without a unit a rate is in GB/s, as drives are sold.
double parse_rate(std::string_view text, std::string_view what) {
  const std::string_view size = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
  std::string_view rest;
  const std::optional<double> number = leading_number(size, rest);
  const double rate =
      number && rest.empty() ? *number * 1e9 : static_cast<double>(parse_bytes(size, what));
  if (rate >= 1e3) return rate;
  throw Error(ErrorCode::kInvalidInput, "{}: \"{}\" is no rate; write for example 7.1GB/s", what,
              text);
}

Nanos parse_time(std::string_view text, std::string_view what) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  std::string_view rest;
  const std::optional<double> number = leading_number(text, rest);
  const auto* const unit = std::ranges::find(kUnits, rest, [](const auto& u) { return u.first; });
  if (number && unit != kUnits.end() && *number * unit->second < 1e15) {
    return Nanos(static_cast<int64_t>(*number * unit->second));
  }
  throw Error(ErrorCode::kInvalidInput, "{}: \"{}\" is no time; write for example 80us or 5ms",
              what, text);
}

/// Stores the values of "NAME=VALUE,NAME=VALUE".
void parse_fields(std::string_view text, std::string_view option, std::span<const Field> fields) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const auto field = std::ranges::find(fields, part.substr(0, equals), &Field::name);
    if (field == fields.end() || equals == part.size()) {
      std::string known;
      for (const Field& f : fields)
        known += fmt::format("{}{}=", known.empty() ? "" : ", ", f.name);
      throw Error(ErrorCode::kInvalidInput, "{}: \"{}\" is none of {}", option, part, known);
    }
    field->store(part.substr(equals + 1), fmt::format("{} {}=", option, field->name));
  }
}

}  // namespace

SimulatedDrive parse_drive(std::string_view text, std::string_view option) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: \"{}\" has no rate; write NAME=RATE, for example inner=7.1GB/s", option, text);
  }
  SimulatedDrive drive{.name = std::string(text.substr(0, equals))};
  const std::string_view after = text.substr(equals + 1);
  const size_t comma = std::min(after.find(','), after.size());
  drive.device.bytes_per_second = parse_rate(after.substr(0, comma), option);
  io::SimDevice& device = drive.device;
  const std::array<Field, 6> fields = {{
      {"latency",
       [&](auto value, auto what) {
         device.latency = parse_time(value, what);
         device.latency_spread = device.latency / 4;
       }},
      {"spread", [&](auto value, auto what) { device.latency_spread = parse_time(value, what); }},
      {"room", [&](auto value, auto what) { drive.room_bytes = parse_bytes(value, what); }},
      {"queue",
       [&](auto value, auto what) {
         device.queue = static_cast<uint32_t>(std::clamp(parse_number(value, what), 1.0, 65536.0));
       }},
      {"jitter", [&](auto value, auto what) { device.rate_jitter = 2 * parse_share(value, what); }},
      {"stall",
       [&](auto value, auto what) {
         const size_t colon = std::min(value.find(':'), value.size());
         device.stall_chance = parse_share(value.substr(0, colon), what);
         if (colon < value.size()) device.stall = parse_time(value.substr(colon + 1), what);
       }},
  }};
  parse_fields(after.substr(std::min(comma + 1, after.size())), option, fields);
  return drive;
}

ComputeRates parse_computing(std::string_view text, std::string_view option) {
  const ComputeRates usual;
  std::optional<double> bf16, mxfp4, state, attention, vector;
  ComputeRates rates;
  const auto rate = [](std::optional<double>& to) {
    return [&to](std::string_view value, std::string_view what) { to = parse_rate(value, what); };
  };
  const auto number = [](double& to) {
    return [&to](std::string_view value, std::string_view what) { to = parse_number(value, what); };
  };
  const std::array<Field, 8> fields = {{
      {"bf16", rate(bf16)},
      {"bf16-row", number(rates.bf16_row)},
      {"mxfp4", rate(mxfp4)},
      {"mxfp4-row", number(rates.mxfp4_row)},
      {"state", rate(state)},
      {"attention", rate(attention)},
      {"vector", rate(vector)},
      {"operation", [&](auto value, auto what) { rates.operation = parse_time(value, what); }},
  }};
  parse_fields(text, option, fields);
  if (!bf16 || !mxfp4) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: give both bf16= and mxfp4=, for example bf16=40GB/s,mxfp4=26GB/s", option);
  }
  const double scale = *bf16 / usual.bf16;
  rates.bf16 = *bf16;
  rates.mxfp4 = *mxfp4;
  rates.state = state.value_or(usual.state * scale);
  rates.attention = attention.value_or(usual.attention * scale);
  rates.vector = vector.value_or(usual.vector * scale);
  return rates;
}

std::string computing_text(const ComputeRates& rates) {
  return fmt::format(
      "bf16={:.2f}GB/s,bf16-row={:.3f},mxfp4={:.2f}GB/s,mxfp4-row={:.3f},state={:.2f}GB/s,"
      "attention={:.2f}GB/s,vector={:.2f}GB/s,operation={:.2f}us",
      rates.bf16 / 1e9, rates.bf16_row, rates.mxfp4 / 1e9, rates.mxfp4_row, rates.state / 1e9,
      rates.attention / 1e9, rates.vector / 1e9,
      static_cast<double>(rates.operation.count()) / 1e3);
}

}  // namespace sluice::cli
