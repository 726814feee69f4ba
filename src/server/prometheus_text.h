#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::server {

/// Counts values in buckets, as Prometheus keeps them.
class Histogram {
 public:
  /// `ends`: the largest value of each bucket, ascending, besides that for all others. It must
  /// outlive this.
  explicit Histogram(std::span<const double> ends) : ends_(ends), counts_(ends.size() + 1) {}

  void add(double value);
  [[nodiscard]] std::span<const double> ends() const { return ends_; }
  /// One more than ends.
  [[nodiscard]] std::span<const uint64_t> counts() const { return counts_; }
  [[nodiscard]] double sum() const { return sum_; }

 private:
  std::span<const double> ends_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

/// Writes Prometheus' text format, version 0.0.4: families, and after each one its samples.
class PrometheusText {
 public:
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  /// `common`: labels of all samples.
  explicit PrometheusText(Labels common);

  void counter(std::string_view name, std::string_view help) { begin(name, help, "counter"); }
  void gauge(std::string_view name, std::string_view help) { begin(name, help, "gauge"); }
  void histogram(std::string_view name, std::string_view help) { begin(name, help, "histogram"); }

  /// Of the counter or gauge that was begun.
  template <class Number>
    requires std::integral<Number> || std::floating_point<Number>
  void sample(Number value, Labels labels = {}) {
    sample({}, labels, text_of(value), {});
  }
  /// Of the histogram that was begun: how many values were at most `end`, for ascending ends,
  void bucket(double end, uint64_t count, Labels labels = {});
  /// and then how many there are at all.
  void total(double sum, uint64_t count, Labels labels = {});
  /// All of these.
  void sample(const Histogram& histogram, Labels labels = {});

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view name, std::string_view help, std::string_view type);
  void sample(std::string_view suffix, Labels labels, std::string_view value, std::string_view end);
  [[nodiscard]] static std::string text_of(double value);
  template <std::integral Number>
  [[nodiscard]] static std::string text_of(Number value) {
    return std::to_string(value);
  }

  std::string common_;  // As samples have it.
  std::string name_;
  std::string text_;
};

}  // namespace sluice::server
