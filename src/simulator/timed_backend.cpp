#include "simulator/timed_backend.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sluice::simulator {

using backend::Tensor;

namespace {

constexpr int kAttempts = 16;

}  // namespace

TimedBackend::TimedBackend(TimedBackendOptions options)
    : options_(std::move(options)), random_(options_.seed) {
  SLUICE_CHECK(options_.routes != nullptr && options_.routes->tokens() > 0);
  SLUICE_CHECK(options_.recall.size() == options_.routes->layers);
  used_.resize(options_.routes->experts);
}

// Memory.

Tensor TimedBackend::allocate(uint32_t rows, uint32_t cols) {
  const size_t bytes = std::max<size_t>(size_t{rows} * cols * sizeof(float), 1);
  auto arena = std::make_unique<stream::SlotArena>(bytes, stream::SlotMemory::kNothing);
  std::byte* const data = arena->data();
  owned_.emplace(data, std::move(arena));
  return {data, rows, cols, sizeof(float)};
}

void TimedBackend::release(Tensor tensor) { SLUICE_CHECK(owned_.erase(tensor.data) == 1); }

// What is asked for between route() and combine() is a guess, else logits.
void TimedBackend::download(Tensor from, std::span<float> to) {
  SLUICE_CHECK(from.size() == to.size());
  pass_over(to.size());
  if (!guessing_) {
    std::ranges::fill(to, 0.0f);
    return;
  }
  for (uint32_t r = 0; r < from.rows; ++r) {
    guess(rows_done_ + r, next_layer_, to.subspan(size_t{r} * from.cols, from.cols));
  }
}

void TimedBackend::download_raw(Tensor, std::span<std::byte> to) {
  std::ranges::fill(to, std::byte{0});
}

// Time.

void TimedBackend::pass(double seconds) {
  options_.pass_time(options_.rates.operation + Nanos(static_cast<int64_t>(seconds * 1e9)));
}

void TimedBackend::pass_over(size_t numbers) {
  pass(static_cast<double>(numbers * sizeof(float)) / options_.rates.vector);
}

void TimedBackend::copy(Tensor from, Tensor) { pass_over(2 * from.size()); }

void TimedBackend::decode_bf16(std::span<const std::byte>, Tensor x) { pass_over(x.size()); }

void TimedBackend::rms_norm(Tensor x, Tensor, float, Tensor) { pass_over(2 * x.size()); }

void TimedBackend::matmul(Tensor x, const backend::Panel& panel, Tensor) {
  const double bytes = 2.0 * panel.rows * panel.cols;
  pass(bytes / options_.rates.bf16 * (1 + options_.rates.bf16_row * (x.rows - 1)));
}

void TimedBackend::add(Tensor x, Tensor) { pass_over(3 * x.size()); }

void TimedBackend::situ(Tensor gate, Tensor, backend::SituBetas, Tensor) {
  pass_over(3 * gate.size());
}

void TimedBackend::mul_sigmoid(Tensor x, Tensor, Tensor) { pass_over(3 * x.size()); }

void TimedBackend::exp(Tensor x, Tensor) { pass_over(2 * x.size()); }

void TimedBackend::attn_residual(std::span<const Tensor> sources, Tensor, float, Tensor y) {
  pass_over((2 * sources.size() + 1) * y.size());
}

void TimedBackend::short_conv(Tensor x, Tensor taps, Tensor, Tensor) {
  pass_over((2 + taps.cols) * x.size());
}

void TimedBackend::kda(const backend::KdaArguments& arguments) {
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(arguments.state.size());
  pass(arguments.q.rows * bytes / options_.rates.state);
}

void TimedBackend::gated_head_norm(Tensor o, Tensor, float, Tensor, Tensor) {
  pass_over(3 * o.size());
}

void TimedBackend::mla_cache_rows(Tensor kv, Tensor, float, Tensor) { pass_over(2 * kv.size()); }

// Every row reads the weights of its heads, which absorb and expand, and the rows of the cache.
void TimedBackend::mla_attend(const backend::MlaShape& shape, Tensor query,
                              const backend::Panel& kv_b, Tensor, uint32_t position, Tensor) {
  const double rows = query.rows, heads = kv_b.rows / (shape.nope + shape.value);
  const double keys = position + (rows + 1) / 2;
  const double products = heads * keys * (2.0 * shape.latent + shape.rope);
  const double bytes = 2.0 * kv_b.rows * kv_b.cols;
  pass(rows * (bytes / options_.rates.bf16 + products / options_.rates.attention));
}

void TimedBackend::expert_ffn(PinnedBytes, const backend::ExpertWeights&, uint32_t expert_hidden,
                              backend::SituBetas, std::span<const uint32_t> rows,
                              std::span<const uint32_t>, Tensor x, Tensor) {
  const double numbers = 3.0 * expert_hidden * x.cols;
  const double bytes = numbers / 2 + numbers / 32;
  pass(bytes / options_.rates.mxfp4 *
       (1 + options_.rates.mxfp4_row * (static_cast<double>(rows.size()) - 1)));
}

void TimedBackend::combine(const backend::Routes& routes, Tensor slots, Tensor y) {
  pass_over(size_t{routes.rows} * routes.k * slots.cols + y.size());
  guessing_ = false;
}

// Routes.

std::span<const uint16_t> TimedBackend::turn_of(uint64_t row, uint32_t layer) const {
  return options_.routes->turn(row % options_.routes->tokens(), layer);
}

void TimedBackend::route(Tensor scores, Tensor, const backend::RouteOptions& options,
                         backend::Routes& out) {
  SLUICE_CHECK(options.k == options_.routes->top_k && scores.cols == options_.routes->experts);
  pass_over(4 * scores.size());
  out.rows = scores.rows;
  out.k = options.k;
  out.experts.clear();
  std::fill(used_.begin(), used_.end(), false);
  for (uint32_t r = 0; r < scores.rows; ++r) {
    for (const uint16_t expert : turn_of(rows_done_ + r, next_layer_)) {
      out.experts.push_back(expert);
      used_[expert] = true;
    }
  }
  out.weights.assign(out.experts.size(), 1.0f / static_cast<float>(options.k));
  out.unique.clear();
  for (uint32_t e = 0; e < used_.size(); ++e) {
    if (used_[e]) out.unique.push_back(e);
  }
  guessing_ = true;
  if (++next_layer_ < options_.routes->layers) return;
  next_layer_ = 0;
  rows_done_ += scores.rows;
}

double TimedBackend::uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

// What another token uses there, so that it is as popular as what is right; any other one where the
// routes have little to offer.
uint16_t TimedBackend::wrong_expert(uint32_t layer, std::span<const uint16_t> right,
                                    std::span<const float> logits) {
  const stream::RouteTable& routes = *options_.routes;
  const auto fits = [&](uint16_t expert) {
    return !std::ranges::binary_search(right, expert) && std::isnan(logits[expert]);
  };
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::span<const uint16_t> other = routes.turn(random_() % routes.tokens(), layer);
    const uint16_t expert = other[random_() % other.size()];
    if (fits(expert)) return expert;
  }
  uint16_t expert = right.front();
  for (uint32_t e = 0; e < routes.experts && !fits(expert); ++e) {
    expert = static_cast<uint16_t>((expert + 1) % routes.experts);
  }
  return expert;
}

// The chance to be right falls evenly from the first rank to the last. What is no number is not
// chosen, whatever the layer's biases are.
void TimedBackend::guess(uint64_t row, uint32_t layer, std::span<float> logits) {
  const stream::RouteTable& routes = *options_.routes;
  const std::span<const uint16_t> right = turn_of(row, layer);
  std::ranges::fill(logits, std::numeric_limits<float>::quiet_NaN());
  std::vector<uint16_t> left(right.begin(), right.end());
  const double mean = options_.recall[layer], spread = 0.8 * std::min(mean, 1 - mean);
  const double count = routes.top_k;
  for (uint32_t rank = 0; rank < routes.top_k; ++rank) {
    const double chance = mean + spread * (1 - (2 * rank + 1) / count);
    const float logit = static_cast<float>(4 - 8 * rank / count);
    if (uniform() < chance) {
      const size_t at = random_() % left.size();
      logits[left[at]] = logit;
      std::swap(left[at], left.back());
      left.pop_back();
      continue;
    }
    logits[wrong_expert(layer, right, logits)] = logit;
  }
}

}  // namespace sluice::simulator
