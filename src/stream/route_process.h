#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace sluice::stream {

/// Routes of consecutive tokens, in one or more conversations. A turn is one layer of one token.
struct RouteTable {
  uint32_t layers = 0;  ///< That have experts.
  uint32_t experts = 0, top_k = 0;
  std::vector<uint16_t> chosen{};  ///< [tokens, layers, top_k], ascending in each turn.
  std::vector<size_t> starts{};    ///< First tokens of the conversations.

  [[nodiscard]] size_t tokens() const { return chosen.size() / layers / top_k; }
  [[nodiscard]] size_t turns() const { return chosen.size() / top_k; }
  [[nodiscard]] size_t all_experts() const { return size_t{layers} * experts; }
  [[nodiscard]] std::span<const uint16_t> turn(size_t turn) const {
    return std::span(chosen).subspan(turn * top_k, top_k);
  }
  [[nodiscard]] std::span<const uint16_t> turn(size_t token, uint32_t layer) const {
    return turn(token * layers + layer);
  }
  /// The number of an expert among those of all layers.
  [[nodiscard]] uint32_t id(size_t turn, uint16_t expert) const {
    return static_cast<uint32_t>(turn % layers * experts + expert);
  }
};

/// The routes of recorded traces, each a conversation. Throws Error that names the path:
/// kInvalidInput when two are of models of different shapes, and as RouteTraceReader does.
[[nodiscard]] RouteTable read_route_traces(std::span<const std::string> paths);

/// The share of uses whose expert the token before used too.
[[nodiscard]] double reuse_share(const RouteTable& routes);
/// By expert of all layers: uses of a token, on average.
[[nodiscard]] std::vector<double> uses_of_token(const RouteTable& routes);

struct RouteProcessShape {
  uint32_t layers = 92, experts = 896, top_k = 16;  ///< As RouteTable; the defaults are K3's.
};

/// What is published of Kimi K3's routing, as a process that draws routes.
///
/// The share of all uses that the most used experts have, here as uses of the expert of rank r (of
/// all layers alike), was fitted to published coverages from 0.12 to 85 % of the experts, which it
/// meets within 0.4 points. A conversation has its own popularity: the general one, times factors
/// whose logarithms are normal. Their deviation makes the best 20, 161, 296 and 583 GiB of experts
/// for 800 tokens of one subject cover 27, 69, 83 and 96 % (published: 28, 69, 84, 98). A token
/// keeps each expert of the one before with a probability that makes the published 35 % be reused.
/// For another number of experts the ranks are stretched.
///
/// A pure function of shape, seed and calls. One thread.
class RouteProcess {
 public:
  RouteProcess(const RouteProcessShape& shape, uint64_t seed);

  /// Adds a conversation of so many tokens.
  void converse(uint32_t tokens);
  [[nodiscard]] const RouteTable& routes() const { return routes_; }
  /// Of a layer alone, by expert: how often a token uses it, over all conversations.
  [[nodiscard]] std::vector<double> general_uses(uint32_t layer) const;

 private:
  [[nodiscard]] double uniform();
  [[nodiscard]] double normal();
  [[nodiscard]] std::vector<double> popularity();
  [[nodiscard]] uint16_t expert_of(uint32_t rank, uint32_t layer) const;
  void add_turn(const std::vector<double>& weights, uint32_t layer, bool first);

  std::mt19937_64 random_;
  std::vector<double> general_;  // Uses of a token, by rank.
  RouteTable routes_;
};

}  // namespace sluice::stream
