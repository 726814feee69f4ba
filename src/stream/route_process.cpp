#include "stream/route_process.h"

#include "base/check.h"
#include "base/error.h"
#include "format/route_trace.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

namespace sluice::stream {
namespace {

constexpr double kDeviation = 1.1, kKeep = 0.25, kUsesMax = 0.95;
// Of the model that the curve was fitted to.
constexpr double kFittedExperts = 896;

void append(const format::RoutePass& pass, RouteTable& routes) {
  const size_t rows = pass.rows.size();
  for (size_t row = 0; row < rows; ++row) {
    for (size_t layer = 0; layer < routes.layers; ++layer) {
      const auto* const first = pass.experts.data() + (layer * rows + row) * routes.top_k;
      routes.chosen.insert(routes.chosen.end(), first, first + routes.top_k);
    }
  }
}

}  // namespace

RouteTable read_route_traces(std::span<const std::string> paths) {
  RouteTable routes;
  for (const std::string& path : paths) {
    format::RouteTraceReader reader(path);
    const format::RouteTraceHeader& header = reader.header();
    const RouteTable of_file{header.moe_layers(), header.experts, header.top_k};
    if (routes.layers == 0) routes = of_file;
    if (std::tie(routes.layers, routes.experts, routes.top_k) !=
        std::tie(of_file.layers, of_file.experts, of_file.top_k)) {
      throw Error(ErrorCode::kInvalidInput,
                  "{}: is of another model than {}; give traces of one model", path, paths.front());
    }
    routes.starts.push_back(routes.tokens());
    format::RoutePass pass;
    while (reader.next(pass)) append(pass, routes);
  }
  return routes;
}

double reuse_share(const RouteTable& routes) {
  if (routes.chosen.empty()) return 0;
  uint64_t reused = 0;
  for (size_t turn = routes.layers; turn < routes.turns(); ++turn) {
    const std::span<const uint16_t> before = routes.turn(turn - routes.layers);
    for (const uint16_t expert : routes.turn(turn)) {
      reused += std::ranges::binary_search(before, expert) ? 1 : 0;
    }
  }
  return static_cast<double>(reused) / static_cast<double>(routes.chosen.size());
}

std::vector<double> uses_of_token(const RouteTable& routes) {
  std::vector<double> uses(routes.all_experts());
  if (routes.chosen.empty()) return uses;
  for (size_t turn = 0; turn < routes.turns(); ++turn) {
    for (const uint16_t expert : routes.turn(turn)) ++uses[routes.id(turn, expert)];
  }
  for (double& of_expert : uses) of_expert /= static_cast<double>(routes.tokens());
  return uses;
}

RouteProcess::RouteProcess(const RouteProcessShape& shape, uint64_t seed)
    : random_(seed), routes_{shape.layers, shape.experts, shape.top_k} {
  SLUICE_CHECK(shape.top_k <= shape.experts && shape.experts <= UINT16_MAX);
  const double stretch = kFittedExperts / shape.experts;
  double sum = 0;
  for (uint32_t i = 0; i < shape.experts; ++i) {
    const double rank = i * stretch;
    general_.push_back(std::pow(rank + 1.00703, -0.47800) *
                       std::exp(-std::pow(rank / 453.561, 2.08586)));
    sum += general_.back();
  }
  for (double& uses : general_) uses *= shape.top_k / sum;
}

void RouteProcess::converse(uint32_t tokens) {
  routes_.starts.push_back(routes_.tokens());
  std::vector<std::vector<double>> weights;
  for (uint32_t layer = 0; layer < routes_.layers; ++layer) weights.push_back(popularity());
  for (uint32_t token = 0; token < tokens; ++token) {
    for (uint32_t layer = 0; layer < routes_.layers; ++layer) {
      add_turn(weights[layer], layer, token == 0);
    }
  }
}

std::vector<double> RouteProcess::general_uses(uint32_t layer) const {
  std::vector<double> uses(routes_.experts);
  for (uint32_t rank = 0; rank < routes_.experts; ++rank) {
    uses[expert_of(rank, layer)] = std::min(general_[rank], kUsesMax);
  }
  return uses;
}

double RouteProcess::uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

double RouteProcess::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// Weights to draw from, added up, for one layer of one conversation.
std::vector<double> RouteProcess::popularity() {
  std::vector<double> uses(general_);
  double sum = 0;
  for (double& use : uses) sum += use *= std::exp(kDeviation * normal());
  double total = 0;
  for (double& use : uses) {
    const double share = std::min(use * routes_.top_k / sum, kUsesMax);
    // What must be drawn when it was not kept, so that it is used so often in all.
    const double drawn = share * (1 - kKeep) / (1 - kKeep * share);
    total += -std::log1p(-drawn);
    use = total;
  }
  return uses;
}

// Ids are no ranks: a prime step, which is none of theirs, spreads them over the layer.
uint16_t RouteProcess::expert_of(uint32_t rank, uint32_t layer) const {
  const uint32_t step = routes_.experts % 397 == 0 ? 401 : 397;
  return static_cast<uint16_t>((rank * step + layer * 131) % routes_.experts);
}

void RouteProcess::add_turn(const std::vector<double>& weights, uint32_t layer, bool first) {
  std::vector<uint16_t> chosen;
  if (!first) {
    for (const uint16_t before : routes_.turn(routes_.turns() - routes_.layers)) {
      if (uniform() < kKeep) chosen.push_back(before);
    }
  }
  while (chosen.size() < routes_.top_k) {
    const auto drawn = std::ranges::upper_bound(weights, uniform() * weights.back());
    const uint16_t expert = expert_of(static_cast<uint32_t>(drawn - weights.begin()), layer);
    if (std::ranges::find(chosen, expert) == chosen.end()) chosen.push_back(expert);
  }
  std::ranges::sort(chosen);
  routes_.chosen.insert(routes_.chosen.end(), chosen.begin(), chosen.end());
}

}  // namespace sluice::stream
