#include "cli/dump.h"

#include "format/safetensors_writer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

std::string in_layer(uint32_t layer, std::string_view name) {
  return fmt::format("L{:02}.{}", layer, name);
}

/// [rows, cols] to [cols, rows].
std::vector<float> transposed(const std::vector<float>& values, size_t rows, size_t cols) {
  std::vector<float> out(values.size());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < cols; ++c) out[c * rows + r] = values[r * cols + c];
  }
  return out;
}

}  // namespace

uint64_t DumpRecorder::bytes(const model::ModelShape& shape, const Extent& extent) {
  constexpr uint64_t kTapsOfALayer = 5, kFinalTaps = 2, kOnTheirWay = 1;
  const uint64_t taps = kTapsOfALayer * shape.layers + kFinalTaps + kOnTheirWay;
  const uint64_t routes = uint64_t{shape.layers - shape.dense_layers} * 2 * shape.experts_per_token;
  const uint64_t values =
      extent.prompt_rows * (taps * shape.hidden + routes) + 2 * extent.logits_rows * shape.vocab;
  return sizeof(float) * values + model::SequenceState::bytes(shape, sizeof(float), extent.context);
}

std::vector<float> DumpRecorder::download(backend::Tensor tensor) const {
  std::vector<float> values(tensor.size());
  loaded_.model().backend().download(tensor, values);
  return values;
}

void DumpRecorder::append(const std::string& name, backend::Tensor tensor) {
  Rows<float>& rows = floats_[name];
  if (rows.shape.empty()) {
    rows.shape = {0, tensor.cols};
    rows.values.reserve(prompt_rows_ * tensor.cols);
  }
  rows.shape[0] += tensor.rows;
  const std::vector<float> values = download(tensor);
  rows.values.insert(rows.values.end(), values.begin(), values.end());
}

void DumpRecorder::on_tensor(uint32_t layer, model::Tap tap, backend::Tensor tensor) {
  const bool final = tap == model::Tap::kFinalIn || tap == model::Tap::kFinalNorm;
  const std::string_view name = model::tap_name(tap);
  append(final ? std::string(name) : in_layer(layer, name), tensor);
}

void DumpRecorder::on_routes(uint32_t layer, const backend::Routes& routes) {
  Rows<int32_t>& ids = integers_[in_layer(layer, "router_ids")];
  Rows<float>& weights = floats_[in_layer(layer, "router_w")];
  if (ids.shape.empty()) {
    ids.shape = weights.shape = {0, routes.k};
    ids.values.reserve(prompt_rows_ * routes.k);
    weights.values.reserve(prompt_rows_ * routes.k);
  }
  ids.shape[0] += routes.rows;
  weights.shape[0] += routes.rows;
  std::vector<uint32_t> order(routes.k);
  for (uint32_t row = 0; row < routes.rows; ++row) {
    const uint32_t* const experts = routes.experts.data() + size_t{row} * routes.k;
    const float* const row_weights = routes.weights.data() + size_t{row} * routes.k;
    // The golden files have the largest weight first; experts come in ascending id.
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
      return row_weights[a] != row_weights[b] ? row_weights[a] > row_weights[b] : a < b;
    });
    for (const uint32_t i : order) {
      ids.values.push_back(static_cast<int32_t>(experts[i]));
      weights.values.push_back(row_weights[i]);
    }
  }
}

void DumpRecorder::add_state(model::SequenceState& state) {
  const model::ModelShape& shape = loaded_.shape();
  const uint64_t width = shape.kda_width(), dim = shape.kda_head_dim;
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    if (shape.is_mla[layer]) {
      append(in_layer(layer, "mla_cache"), state.mla(layer).cache.slice(0, state.length()));
      continue;
    }
    const model::SequenceState::Kda& kda = state.kda(layer);
    add_floats(in_layer(layer, "kda_state"), {shape.kda_heads, dim, dim}, download(kda.state));
    const std::pair<const char*, backend::Tensor> histories[] = {
        {"conv_q", kda.q_history}, {"conv_k", kda.k_history}, {"conv_v", kda.v_history}};
    for (const auto& [name, history] : histories) {
      add_floats(in_layer(layer, name), {width, history.rows},
                 transposed(download(history), history.rows, history.cols));
    }
  }
}

void DumpRecorder::add_floats(const std::string& name, std::vector<uint64_t> shape,
                              std::vector<float> values) {
  floats_[name] = {std::move(shape), std::move(values)};
}

void DumpRecorder::add_ids(const std::string& name, std::span<const TokenId> ids) {
  Rows<int32_t>& rows = integers_[name];
  rows.shape = {ids.size()};
  for (const TokenId id : ids) rows.values.push_back(id.value);
}

void DumpRecorder::write(const std::filesystem::path& path) const {
  std::vector<format::WriterTensor> tensors;
  std::vector<std::span<const std::byte>> data;
  const auto declare = [&](const auto& all, const char* dtype) {
    for (const auto& [name, rows] : all) {
      data.push_back(std::as_bytes(std::span(rows.values)));
      tensors.push_back({name, dtype, rows.shape, data.back().size()});
    }
  };
  declare(floats_, "F32");
  declare(integers_, "I32");
  format::SafetensorsWriter writer(path, std::move(tensors));
  for (const std::span<const std::byte> bytes : data) writer.write(bytes);
  writer.commit();
}

}  // namespace sluice::cli
