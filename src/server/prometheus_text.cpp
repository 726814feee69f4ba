#include "server/prometheus_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace sluice::server {
namespace {

void append_escaped(std::string_view text, bool quoted, std::string& out) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || (quoted && c == '"')) out += '\\';
      out += c;
    }
  }
}

void append_label(const PrometheusText::Label& label, std::string& out) {
  if (!out.empty() && out.back() != '{') out += ',';
  out += label.first;
  out += "=\"";
  append_escaped(label.second, /*quoted=*/true, out);
  out += '"';
}

}  // namespace

void Histogram::add(double value) {
  const auto bucket = std::ranges::lower_bound(ends_, value);
  ++counts_[static_cast<size_t>(bucket - ends_.begin())];
  sum_ += value;
}

PrometheusText::PrometheusText(Labels common) {
  for (const Label& label : common) append_label(label, common_);
}

void PrometheusText::begin(std::string_view name, std::string_view help, std::string_view type) {
  name_ = name;
  text_ += fmt::format("# HELP {} ", name);
  append_escaped(help, /*quoted=*/false, text_);
  text_ += fmt::format("\n# TYPE {} {}\n", name, type);
}

void PrometheusText::sample(std::string_view suffix, Labels labels, std::string_view value,
                            std::string_view end) {
  std::string all = common_;
  for (const Label& label : labels) append_label(label, all);
  if (!end.empty()) append_label({"le", end}, all);
  text_ += name_;
  text_ += suffix;
  if (!all.empty()) text_ += fmt::format("{{{}}}", all);
  text_ += fmt::format(" {}\n", value);
}

void PrometheusText::bucket(double end, uint64_t count, Labels labels) {
  sample("_bucket", labels, text_of(count), text_of(end));
}

void PrometheusText::total(double sum, uint64_t count, Labels labels) {
  sample("_bucket", labels, text_of(count), "+Inf");
  sample("_sum", labels, text_of(sum), {});
  sample("_count", labels, text_of(count), {});
}

void PrometheusText::sample(const Histogram& histogram, Labels labels) {
  uint64_t count = 0;
  for (size_t i = 0; i < histogram.ends().size(); ++i) {
    count += histogram.counts()[i];
    bucket(histogram.ends()[i], count, labels);
  }
  total(histogram.sum(), count + histogram.counts().back(), labels);
}

std::string PrometheusText::text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace sluice::server
