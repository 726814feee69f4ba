#include "stream/route_statistics.h"

#include "base/check.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace sluice::stream {
namespace {

uint64_t sum(std::span<const uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double top_share(const std::vector<uint64_t>& counts) {
  return counts.empty() ? 0.0 : share(std::ranges::max(counts), sum(counts));
}

double quarter_share(std::vector<uint64_t> counts) {
  std::ranges::sort(counts, std::greater<>());
  return share(sum(std::span(counts).first((counts.size() + 3) / 4)), sum(counts));
}

RouteStatistics::RouteStatistics(const format::RouteTraceHeader& header)
    : header_(header), layers_(header.moe_layers()) {
  for (Layer& layer : layers_) {
    layer.counts.resize(header.experts);
    for (Union& group : layer.unions) group.last_group.resize(header.experts);
  }
}

void RouteStatistics::add(const format::RoutePass& pass) {
  passes_ += 1;
  (pass.kind == format::PassKind::kDecode ? decode_rows_ : prefill_rows_) += pass.rows.size();
  rows_of_run_.clear();
  for (const format::RouteRow& row : pass.rows) {
    const bool follows = run_length_ > 0 && row.sequence == last_row_.sequence &&
                         row.position == last_row_.position + 1;
    runs_ += follows ? 0 : 1;
    run_length_ = follows ? run_length_ : 0;
    rows_of_run_.push_back(run_length_++);
    last_row_ = row;
  }
  std::span<const uint16_t> experts(pass.experts);
  SLUICE_CHECK(experts.size() == layers_.size() * pass.rows.size() * header_.top_k);
  for (Layer& layer : layers_) {
    for (const uint64_t row_of_run : rows_of_run_) {
      add_row(layer, experts.first(header_.top_k), row_of_run);
      experts = experts.subspan(header_.top_k);
    }
  }
}

void RouteStatistics::add_row(Layer& layer, std::span<const uint16_t> experts,
                              uint64_t row_of_run) {
  for (const uint16_t expert : experts) layer.counts[expert] += 1;
  if (row_of_run > 0) {
    layer.followed_slots += experts.size();
    // Both are in ascending order.
    auto before = layer.previous.begin();
    for (const uint16_t expert : experts) {
      before = std::lower_bound(before, layer.previous.end(), expert);
      layer.reused_slots += before != layer.previous.end() && *before == expert ? 1 : 0;
    }
  }
  layer.previous.assign(experts.begin(), experts.end());
  for (size_t i = 0; i < kUnionRows.size(); ++i) {
    Union& of = layer.unions[i];
    if (row_of_run % kUnionRows[i] == 0) {
      of.group += 1;
      of.distinct = 0;
    }
    for (const uint16_t expert : experts) {
      of.distinct += of.last_group[expert] != of.group ? 1 : 0;
      of.last_group[expert] = of.group;
    }
    if (row_of_run % kUnionRows[i] == kUnionRows[i] - 1) {
      of.groups += 1;
      of.experts += of.distinct;
    }
  }
}

RouteFigures RouteStatistics::layer(uint32_t number) const {
  SLUICE_CHECK(number >= header_.first_moe_layer && number < header_.layers);
  const Layer& layer = layers_[number - header_.first_moe_layer];
  RouteFigures figures;
  figures.slots = sum(layer.counts);
  figures.experts_unused = static_cast<uint64_t>(std::ranges::count(layer.counts, uint64_t{0}));
  figures.experts_used = header_.experts - figures.experts_unused;
  figures.top_share = top_share(layer.counts);
  figures.quarter_share = quarter_share(layer.counts);
  figures.reuse = share(layer.reused_slots, layer.followed_slots);
  for (size_t i = 0; i < kUnionRows.size(); ++i) {
    figures.union_experts[i] = share(layer.unions[i].experts, layer.unions[i].groups);
  }
  return figures;
}

RouteFigures RouteStatistics::overall() const {
  RouteFigures all;
  const auto mean_of = [&](double& mean, double value) {
    mean += value / static_cast<double>(layers_.size());
  };
  for (uint32_t number = header_.first_moe_layer; number < header_.layers; ++number) {
    const RouteFigures one = layer(number);
    all.slots += one.slots;
    all.experts_used += one.experts_used;
    all.experts_unused += one.experts_unused;
    mean_of(all.top_share, one.top_share);
    mean_of(all.quarter_share, one.quarter_share);
    mean_of(all.reuse, one.reuse);
    for (size_t i = 0; i < kUnionRows.size(); ++i) {
      mean_of(all.union_experts[i], one.union_experts[i]);
    }
  }
  return all;
}

}  // namespace sluice::stream
