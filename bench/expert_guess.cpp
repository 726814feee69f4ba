// Measures how well the router of the next layer, on the stream as it is, guesses the experts of
// that layer: a text runs token by token, with memory for some share of the experts.
#include "base/error.h"
#include "base/read_file.h"
#include "benchmark.h"
#include "cli/options.h"
#include "model/loaded_model.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using sluice::TokenId;
using sluice::model::GuessCounts;
using sluice::model::LayerGuesses;
using sluice::model::LoadedModel;
using sluice::model::LoadOptions;
using sluice::model::ModelShape;
using sluice::stream::StreamerCounters;

struct Arguments {
  bool json = false;
  std::string model = "models/nano", text = "tests/nano/prose.txt";
  uint32_t tokens = 2048, window = 512, threads = 0;
};

LoadOptions load_options(const Arguments& arguments) {
  return {.threads = arguments.threads, .prefill_rows = 1, .context = arguments.window};
}

/// The least memory in which the spine and that many experts stay.
uint64_t memory_for(const std::string& model, LoadOptions options, uint64_t experts) {
  uint64_t below = 0, enough = uint64_t{1} << 42;
  options.memory_bytes = enough;
  enough = sluice::model::inspect_model(model, options).plan.total_bytes;
  while (enough - below > 1024) {
    options.memory_bytes = below + (enough - below) / 2;
    const sluice::stream::MemoryPlan plan = sluice::model::inspect_model(model, options).plan;
    const bool fits = plan.fits && plan.spine_streamed_bytes == 0 && plan.expert_slots >= experts;
    (fits ? enough : below) = options.memory_bytes;
  }
  return enough;
}

/// One run over the text.
struct Run {
  uint64_t tokens = 0;
  uint64_t slots = 0;
  StreamerCounters counters;
  std::vector<LayerGuesses> layers;  // Those that were guessed for.
  std::vector<bool> pays;            // Whether they were, at the end.
};

Run run(const std::string& model, const LoadOptions& options, std::span<const TokenId> tokens) {
  LoadedModel loaded(model, options);
  const std::unique_ptr<sluice::model::SequenceState> state = loaded.make_state();
  sluice::model::SequenceState* const states[] = {state.get()};
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i % options.context == 0) state->clear();
    loaded.model().forward({.tokens = tokens.subspan(i, 1),
                            .states = states,
                            .logits_rows = {},
                            .another_follows = i + 1 < tokens.size()},
                           {});
  }
  Run result{.tokens = tokens.size(),
             .slots = loaded.plan().expert_slots,
             .counters = loaded.streamer().counters(),
             .layers = {},
             .pays = {}};
  const sluice::model::ExpertGuess* const guess = loaded.model().guess();
  if (guess == nullptr) return result;
  for (uint32_t l = loaded.shape().dense_layers + 1; l < loaded.shape().layers; ++l) {
    result.layers.push_back(guess->statistics()[l]);
    result.pays.push_back(guess->policy().pays(l));
  }
  return result;
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

GuessCounts total(const std::vector<LayerGuesses>& layers) {
  GuessCounts sum;
  for (const LayerGuesses& layer : layers) sum += layer.total();
  return sum;
}

/// With hints and without, in the same memory.
struct Comparison {
  double share = 0;  // Of the experts that have a slot.
  Run without, with;

  /// Experts that the cache missed, of a token.
  [[nodiscard]] double missed(const Run& run) const {
    const double experts = static_cast<double>(without.counters.expert_misses);
    return experts *
           ::share(run.counters.expert_bytes_missed, without.counters.expert_bytes_missed) /
           static_cast<double>(run.tokens);
  }
  /// Bytes of experts read, of those that the router asked for and the cache missed.
  [[nodiscard]] double read_of_missed() const {
    const StreamerCounters& c = with.counters;
    return 1 + ::share(c.hint_bytes_read - c.hint_bytes_used, c.expert_bytes_missed);
  }
  [[nodiscard]] double guessed_for() const {
    uint64_t guesses = 0, passes = 0;
    for (const LayerGuesses& layer : with.layers) {
      guesses += layer.guesses;
      passes += layer.passes;
    }
    return ::share(guesses, passes);
  }
};

void print_layers(const ModelShape& shape, const Run& always) {
  fmt::print("\nlayer  kind  recall, %  of them absent, %  right by rank, %\n");
  for (size_t i = 0; i < always.layers.size(); ++i) {
    const size_t layer = shape.dense_layers + 1 + i;
    const GuessCounts sum = always.layers[i].total();
    fmt::print("{:>5}  {:>4} {:>10.1f} {:>18.1f}  ", layer, shape.is_mla[layer] ? "MLA" : "KDA",
               100 * share(sum.found, always.layers[i].requested),
               100 * share(sum.absent_found, sum.found));
    for (const GuessCounts& rank : always.layers[i].ranks) {
      fmt::print("{:>6.1f}", 100 * share(rank.found, rank.guessed));
    }
    fmt::print("\n");
  }
}

void print_comparisons(const std::vector<Comparison>& comparisons) {
  fmt::print(
      "\nslots  missed  without  hints a token  right, %  read of missed  guessed for, %  "
      "layers off\n");
  for (const Comparison& c : comparisons) {
    const GuessCounts sum = total(c.with.layers);
    fmt::print("{:>5} {:>7.2f} {:>8.2f} {:>14.2f} {:>9.1f} {:>15.4f} {:>15.1f} {:>11}\n",
               c.with.slots, c.missed(c.with), c.missed(c.without),
               static_cast<double>(sum.hinted) / static_cast<double>(c.with.tokens),
               100 * share(sum.hinted_found, sum.hinted), c.read_of_missed(), 100 * c.guessed_for(),
               std::ranges::count(c.with.pays, false));
  }
}

std::string json(const GuessCounts& c) {
  return fmt::format(
      R"({{"guessed": {}, "found": {}, "absent": {}, "absent_found": {}, "hinted": {}, )"
      R"("hinted_found": {}}})",
      c.guessed, c.found, c.absent, c.absent_found, c.hinted, c.hinted_found);
}

std::string json(const Run& run) {
  std::string layers;
  for (size_t i = 0; i < run.layers.size(); ++i) {
    std::string ranks;
    for (const GuessCounts& rank : run.layers[i].ranks) {
      ranks += (ranks.empty() ? "" : ", ") + json(rank);
    }
    layers += fmt::format(
        R"({}{{"passes": {}, "guesses": {}, "requested": {}, "pays": {}, "ranks": [{}]}})",
        layers.empty() ? "" : ", ", run.layers[i].passes, run.layers[i].guesses,
        run.layers[i].requested, run.pays[i], ranks);
  }
  const StreamerCounters& c = run.counters;
  return fmt::format(R"({{"tokens": {}, "slots": {}, "expert_hits": {}, "expert_misses": {}, )"
                     R"("expert_bytes_missed": {}, "hint_bytes_read": {}, "hint_bytes_used": {}, )"
                     R"("layers": [{}]}})",
                     run.tokens, run.slots, c.expert_hits, c.expert_misses, c.expert_bytes_missed,
                     c.hint_bytes_read, c.hint_bytes_used, layers);
}

void print_json(const Run& always, const std::vector<Comparison>& comparisons) {
  std::string lines;
  for (const Comparison& c : comparisons) {
    lines += fmt::format(R"({}{{"share": {}, "without": {}, "with": {}}})",
                         lines.empty() ? "" : ", ", c.share, json(c.without), json(c.with));
  }
  fmt::print("{{\"always\": {}, \"by_memory\": [{}]}}\n", json(always), lines);
}

std::vector<TokenId> read_tokens(const Arguments& arguments) {
  const sluice::text::Tokenizer tokenizer(arguments.model);
  constexpr uint64_t kTextBytesMax = 1u << 30;
  const sluice::FileText file = sluice::read_file(arguments.text, kTextBytesMax);
  if (!file.trouble.empty()) {
    throw sluice::Error(sluice::ErrorCode::kIo, "{}: {}", arguments.text, file.trouble);
  }
  std::vector<TokenId> tokens = tokenizer.encode(file.text);
  tokens.resize(std::min<size_t>(tokens.size(), arguments.tokens));
  return tokens;
}

void measure(const Arguments& arguments) {
  const std::vector<TokenId> tokens = read_tokens(arguments);
  LoadOptions options = load_options(arguments);
  const sluice::model::Inspection model = sluice::model::inspect_model(arguments.model, options);
  const auto memory = [&](double part) {
    const double experts = part * static_cast<double>(model.expert_count);
    return memory_for(arguments.model, options, static_cast<uint64_t>(experts));
  };
  std::vector<Comparison> comparisons;
  for (const double part : {0.05, 0.1, 0.2, 0.4, 0.6, 0.8}) {
    options.memory_bytes = memory(part);
    options.hints = false;
    Comparison& c = comparisons.emplace_back(part);
    c.without = run(arguments.model, options, tokens);
    options.hints = true;
    c.with = run(arguments.model, options, tokens);
  }
  options.memory_bytes = memory(0.4);
  options.reading.hint_limits.probe_every = 1;
  const Run always = run(arguments.model, options, tokens);
  if (arguments.json) {
    print_json(always, comparisons);
    return;
  }
  fmt::print("{} tokens, {} experts\n", tokens.size(), model.expert_count);
  print_layers(model.shape, always);
  print_comparisons(comparisons);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  sluice::cli::OptionList options;
  options.optional_argument({"MODEL", "", "folder of a model"}, arguments.model,
                            sluice::cli::Completion::kFolder);
  options.optional_argument({"TEXT", "", "file that it reads"}, arguments.text,
                            sluice::cli::Completion::kFile);
  options.flag({"json", "", "print JSON"}, arguments.json);
  options.number({"tokens", "N", "of the text"}, arguments.tokens, {1, 1u << 30});
  options.number({"window", "N", "tokens after which the model begins anew"}, arguments.window,
                 {1, 1u << 20});
  options.number({"threads", "N", "that compute"}, arguments.threads, {0, 1024});
  options.describe_default("all cores");
  return sluice::bench::run_main(
      argc, argv, "How well the router of the next layer guesses the experts of that layer.",
      options, [&] { measure(arguments); });
}
