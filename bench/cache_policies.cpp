// Which experts to keep: replays routes through the cache policy with several settings, at several
// sizes of the cache. The ceiling is the choice that knows the future. Each token is a pass of its
// own, as in decoding; the first quarter of the tokens fills the cache and is not counted.
#include "base/error.h"
#include "benchmark.h"
#include "cli/options.h"
#include "stream/cache_policy.h"
#include "stream/route_process.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

using sluice::SegmentId;
using sluice::stream::CachePolicy;
using sluice::stream::CachePolicyOptions;
using sluice::stream::RouteProcess;
using sluice::stream::RouteProcessShape;
using sluice::stream::RouteTable;

/// Bytes of an expert of K3, in GiB.
constexpr double kExpertGib = 17547264.0 / (1 << 30);

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
}

/// Slots under a policy.
class Cache {
 public:
  Cache(const RouteTable& routes, CachePolicyOptions options, size_t slots)
      : routes_(routes),
        slots_(slots),
        policy_(routes.all_experts(), with_turns(options, routes.layers)),
        resident_(routes.all_experts()) {}

  /// Returns how many of the turn's experts were there.
  uint32_t run(size_t turn) {
    policy_.begin_turn();
    missing_.clear();
    for (const uint16_t expert : routes_.turn(turn)) {
      const uint32_t id = routes_.id(turn, expert);
      if (resident_[id]) {
        policy_.withhold({id});
      } else {
        missing_.push_back(id);
      }
      policy_.use({id});
    }
    for (const uint32_t id : missing_) {
      if (held_ == slots_) give_up();
      resident_[id] = true;
      ++held_;
    }
    for (const uint16_t expert : routes_.turn(turn)) policy_.offer({routes_.id(turn, expert)});
    return routes_.top_k - static_cast<uint32_t>(missing_.size());
  }
  /// Hits of some tokens, as a share.
  double run(size_t first_token, size_t last_token) {
    uint64_t hits = 0;
    for (size_t turn = first_token * routes_.layers; turn < last_token * routes_.layers; ++turn) {
      hits += run(turn);
    }
    const size_t uses = (last_token - first_token) * routes_.layers * routes_.top_k;
    return share(hits, uses);
  }
  /// Empties the slots and keeps the history.
  void clear() {
    while (held_ > 0) give_up();
  }
  /// Brings an expert in that no turn asked for, while there is an empty slot.
  void fill(uint32_t id) {
    if (held_ == slots_ || resident_[id]) return;
    resident_[id] = true;
    ++held_;
    policy_.offer({id});
  }

 private:
  static CachePolicyOptions with_turns(CachePolicyOptions options, uint32_t layers) {
    options.turns_per_pass = layers;
    return options;
  }
  void give_up() {
    const SegmentId lowest = policy_.lowest().value();
    policy_.withhold(lowest);
    resident_[lowest.value] = false;
    --held_;
  }

  const RouteTable& routes_;
  const size_t slots_;
  CachePolicy policy_;
  std::vector<bool> resident_;
  std::vector<uint32_t> missing_;
  size_t held_ = 0;
};

/// The experts of all layers, the one that the first tokens used most in front.
std::vector<uint32_t> by_uses(const RouteTable& routes, size_t tokens) {
  std::vector<uint32_t> uses(routes.all_experts()), order(routes.all_experts());
  for (size_t turn = 0; turn < tokens * routes.layers; ++turn) {
    for (const uint16_t expert : routes.turn(turn)) ++uses[routes.id(turn, expert)];
  }
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t id) { return uses[id]; });
  return order;
}

size_t warm_up(const RouteTable& routes) { return routes.tokens() / 4; }

/// For each choice, the turn that next chooses the same expert.
std::vector<uint32_t> next_turns(const RouteTable& routes) {
  std::vector<uint32_t> next(routes.chosen.size());
  std::vector<uint32_t> following(routes.all_experts(), ~uint32_t{0});
  for (size_t i = next.size(); i-- > 0;) {
    const size_t turn = i / routes.top_k;
    next[i] =
        std::exchange(following[routes.id(turn, routes.chosen[i])], static_cast<uint32_t>(turn));
  }
  return next;
}

/// The hit rate of giving up what is needed last (Belady's choice): no policy has a higher one.
double optimum(const RouteTable& routes, const std::vector<uint32_t>& next, size_t slots) {
  // What the present turn uses has at most an entry that is due now, behind those of all others.
  std::priority_queue<std::pair<uint32_t, uint32_t>> by_next;
  std::vector<bool> resident(routes.all_experts());
  size_t held = 0;
  uint64_t hits = 0, uses = 0;
  for (size_t turn = 0; turn < routes.turns(); ++turn) {
    size_t missing = 0;
    for (const uint16_t expert : routes.turn(turn)) {
      missing += resident[routes.id(turn, expert)] ? 0 : 1;
      resident[routes.id(turn, expert)] = true;
    }
    if (turn >= warm_up(routes) * routes.layers) {
      uses += routes.top_k;
      hits += routes.top_k - missing;
    }
    for (held += missing; held > slots; --held) {
      resident[by_next.top().second] = false;
      by_next.pop();
    }
    for (size_t i = turn * routes.top_k; i < (turn + 1) * routes.top_k; ++i) {
      by_next.emplace(next[i], routes.id(turn, routes.chosen[i]));
    }
  }
  return share(hits, uses);
}

struct Setting {
  const char* name;
  CachePolicyOptions options;
};

constexpr double kForEver = std::numeric_limits<double>::infinity();

std::vector<Setting> settings() {
  return {
      {"last use (LRU)", {.half_life = 1.0 / 1024, .recent_uses = 0}},
      {"all uses (LFU)", {.half_life = kForEver, .recent_uses = 0}},
      {"half-life 4", {.half_life = 4, .recent_uses = 0}},
      {"half-life 16", {.half_life = 16, .recent_uses = 0}},
      {"half-life 64", {.half_life = 64, .recent_uses = 0}},
      {"half-life 256", {.half_life = 256, .recent_uses = 0}},
      {"16, recent 4", {.half_life = 16, .recent_uses = 4}},
      {"16, recent 8", {.half_life = 16, .recent_uses = 8}},
      {"16, recent 16", {.half_life = 16, .recent_uses = 16}},
      {"32, recent 8", {.half_life = 32, .recent_uses = 8}},
      {"32, recent 16", {.half_life = 32, .recent_uses = 16}},
      {"64, recent 16", {.half_life = 64, .recent_uses = 16}},
      {"64, recent 64", {.half_life = 64, .recent_uses = 64}},
      {"256, recent 64", {.half_life = 256, .recent_uses = 64}},
      {"shipped", {}},
  };
}

/// A size of the cache, and its name.
struct Size {
  std::string name;
  size_t slots = 0;
};

std::vector<Size> sizes(const RouteTable& routes, bool synthetic) {
  std::vector<Size> result;
  const auto add = [&](std::string name, double slots) {
    result.push_back({std::move(name), std::max<size_t>(static_cast<size_t>(slots), routes.top_k)});
  };
  if (synthetic) {
    const double of_layers = routes.layers / static_cast<double>(RouteProcessShape{}.layers);
    for (const double gib : {1.6, 8.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0, 512.0}) {
      add(fmt::format("{:g} GiB", gib), gib / kExpertGib * of_layers);
    }
  } else {
    for (const double percent : {2.5, 5.0, 10.0, 15.0, 20.0, 40.0, 60.0, 80.0}) {
      add(fmt::format("{:g} %", percent),
          percent / 100 * static_cast<double>(routes.all_experts()));
    }
  }
  return result;
}

/// Hit rates by size of the cache.
struct Line {
  std::string name;
  std::vector<double> rates;
};

std::vector<Line> compare(const RouteTable& routes, const std::vector<Size>& at) {
  const std::vector<uint32_t> next = next_turns(routes);
  std::vector<Line> lines = {{"optimum", {}}};
  for (const Size& size : at) lines[0].rates.push_back(optimum(routes, next, size.slots));
  for (const Setting& setting : settings()) {
    lines.push_back({setting.name, {}});
    for (const Size& size : at) {
      Cache cache(routes, setting.options, size.slots);
      cache.run(0, warm_up(routes));
      lines.back().rates.push_back(cache.run(warm_up(routes), routes.tokens()));
    }
  }
  return lines;
}

/// Hit rates of the first tokens of the last conversation, by what is known of those before it.
std::vector<Line> start_up(const RouteTable& routes, const std::vector<Size>& at) {
  constexpr size_t kTokens = 64;
  const size_t start = routes.starts.back();
  const size_t end = std::min(start + kTokens, routes.tokens());
  const std::vector<uint32_t> most_used = by_uses(routes, start);
  std::vector<Line> lines = {{"nothing", {}},
                             {"history, empty slots", {}},
                             {"history, slots as they were", {}},
                             {"history, slots with the most used", {}}};
  for (const Size& size : at) {
    Cache cold(routes, {}, size.slots), kept(routes, {}, size.slots);
    lines[0].rates.push_back(cold.run(start, end));
    kept.run(0, start);
    Cache known = kept, filled = kept;
    known.clear();
    lines[1].rates.push_back(known.run(start, end));
    lines[2].rates.push_back(kept.run(start, end));
    filled.clear();
    for (const uint32_t id : most_used) filled.fill(id);
    lines[3].rates.push_back(filled.run(start, end));
  }
  return lines;
}

void print_table(const char* title, const std::vector<Size>& at, const std::vector<Line>& lines) {
  fmt::print("\n{:<34}", title);
  for (const Size& size : at) fmt::print("{:>9}", size.name);
  fmt::print("\n{:<34}", "slots");
  for (const Size& size : at) fmt::print("{:>9}", size.slots);
  for (const Line& line : lines) {
    fmt::print("\n{:<34}", line.name);
    for (const double rate : line.rates) fmt::print("{:>9.1f}", 100 * rate);
  }
  fmt::print("\n");
}

std::string json_lines(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) {
    out += fmt::format("{}\"{}\": [{:.4f}]", out.empty() ? "" : ", ", line.name,
                       fmt::join(line.rates, ", "));
  }
  return "{" + out + "}";
}

struct Arguments {
  bool json = false;
  std::vector<std::string> traces;
  uint32_t layers = RouteProcessShape{}.layers, conversations = 16, tokens = 128, seed = 1;
};

RouteTable make_routes(const Arguments& arguments) {
  if (!arguments.traces.empty()) return sluice::stream::read_route_traces(arguments.traces);
  RouteProcess synthetic({.layers = arguments.layers}, arguments.seed);
  for (uint32_t i = 0; i < arguments.conversations; ++i) synthetic.converse(arguments.tokens);
  return synthetic.routes();
}

void run(const Arguments& arguments) {
  const RouteTable routes = make_routes(arguments);
  if (routes.tokens() == 0) {
    throw sluice::Error(sluice::ErrorCode::kInvalidInput, "the traces have no tokens");
  }
  const std::vector<Size> at = sizes(routes, arguments.traces.empty());
  const std::vector<Line> rates = compare(routes, at), start = start_up(routes, at);
  if (arguments.json) {
    std::string slots;
    for (const Size& size : at) slots += fmt::format("{}{}", slots.empty() ? "" : ", ", size.slots);
    fmt::print(
        "{{\"layers\": {}, \"experts\": {}, \"tokens\": {}, \"reuse\": {:.4f}, \"slots\": [{}], "
        "\"hit_rate\": {}, \"start_hit_rate\": {}}}\n",
        routes.layers, routes.experts, routes.tokens(), reuse_share(routes), slots,
        json_lines(rates), json_lines(start));
    return;
  }
  fmt::print("{} tokens in {} conversations, {} of {} experts in {} layers; {:.1f} % reused\n",
             routes.tokens(), routes.starts.size(), routes.top_k, routes.experts, routes.layers,
             100 * reuse_share(routes));
  print_table("hit rate, %", at, rates);
  print_table("first 64 tokens, knowing", at, start);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  sluice::cli::OptionList options;
  options.arguments({"TRACE", "", "files of sluice eval --routes, of one model, one after another"},
                    arguments.traces, sluice::cli::Completion::kFile, 0);
  options.flag({"json", "", "print JSON"}, arguments.json);
  options.number({"layers", "N", "of the routes that are made without traces"}, arguments.layers,
                 {1, 1000});
  options.number({"conversations", "N", "of these"}, arguments.conversations, {1, 100'000});
  options.number({"tokens", "N", "of each conversation"}, arguments.tokens, {1, 1'000'000});
  options.number({"seed", "N", "of the routes"}, arguments.seed, {0, UINT32_MAX});
  return sluice::bench::run_main(
      argc, argv,
      "Hit rates of cache policies on recorded routes, or on such as K3 is said to have.", options,
      [&] { run(arguments); });
}
