#include "kernels/fingerprint.h"

#include "kernels/math.h"

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <vector>

namespace sluice::kernels {
namespace {

/// Fixed inputs made of integers alone, so that no library function can make them differ.
class Inputs {
 public:
  uint64_t bits() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// Magnitudes from 2^-10 to 2^6, both signs.
  std::vector<float> floats(size_t n) {
    std::vector<float> values(n);
    for (float& value : values) {
      const auto r = static_cast<uint32_t>(bits());
      value = math::from_bits((r & 0x807fffffU) | ((117U + (r >> 23) % 16U) << 23));
    }
    return values;
  }
  std::vector<uint16_t> bf16(size_t n) {
    std::vector<uint16_t> values;
    values.reserve(n);
    for (const float value : floats(n)) {
      values.push_back(static_cast<uint16_t>(math::to_bits(value) >> 16));
    }
    return values;
  }
  std::vector<uint8_t> bytes(size_t n, unsigned low, unsigned count) {
    std::vector<uint8_t> values(n);
    for (uint8_t& value : values) value = static_cast<uint8_t>(low + bits() % count);
    return values;
  }

 private:
  uint64_t state_ = 0;
};

/// FNV-1a over the words of floats.
class Hash {
 public:
  void add(float value) {
    for (uint32_t word = math::to_bits(value), i = 0; i < 4; ++i, word >>= 8) {
      value_ = (value_ ^ (word & 255U)) * 0x100000001b3U;
    }
  }
  void add(const std::vector<float>& values) {
    for (const float value : values) add(value);
  }
  [[nodiscard]] uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325U;
};

struct FreeDeleter {
  void operator()(float* p) const { std::free(p); }
};
/// 64-byte aligned floats, as packed activations must be.
std::unique_ptr<float[], FreeDeleter> packed_rows(size_t floats) {
  return std::unique_ptr<float[], FreeDeleter>(
      static_cast<float*>(std::aligned_alloc(64, floats * sizeof(float))));
}

constexpr size_t kWeightRows = 19;
constexpr size_t kActivationRows = 15;

void add_matmul_bf16(const KernelTable& table, size_t columns, Inputs& inputs, Hash& hash) {
  const size_t stride = packed_floats(columns, kBf16BlockColumns);
  const auto packed = packed_rows(stride * kActivationRows);
  const std::vector<float> x = inputs.floats(columns * kActivationRows);
  for (size_t i = 0; i < kActivationRows; ++i) {
    table.pack_bf16(x.data() + i * columns, columns, packed.get() + i * stride);
  }
  const std::vector<uint16_t> w = inputs.bf16(kWeightRows * columns);
  std::vector<float> y(kActivationRows * kWeightRows);
  table.matmul_bf16({.w_rows = kWeightRows,
                     .columns = columns,
                     .x_rows = kActivationRows,
                     .x_stride = stride,
                     .y_stride = kWeightRows},
                    w.data(), packed.get(), y.data());
  hash.add(y);
}

void add_matmul_mxfp4(const KernelTable& table, size_t columns, Inputs& inputs, Hash& hash) {
  const size_t stride = packed_floats(columns, kMxfp4BlockColumns);
  const auto packed = packed_rows(stride * kActivationRows);
  const std::vector<float> x = inputs.floats(columns * kActivationRows);
  for (size_t i = 0; i < kActivationRows; ++i) {
    table.pack_mxfp4(x.data() + i * columns, columns, packed.get() + i * stride);
  }
  const std::vector<uint8_t> codes = inputs.bytes(kWeightRows * columns / 2, 0, 256);
  const std::vector<uint8_t> scales = inputs.bytes(kWeightRows * columns / 32, 115, 14);
  std::vector<float> y(kActivationRows * kWeightRows);
  table.matmul_mxfp4({.w_rows = kWeightRows,
                      .columns = columns,
                      .x_rows = kActivationRows,
                      .x_stride = stride,
                      .y_stride = kWeightRows},
                     codes.data(), scales.data(), packed.get(), y.data());
  hash.add(y);
}

void add_vectors(const KernelTable& table, size_t n, Inputs& inputs, Hash& hash) {
  const std::vector<float> a = inputs.floats(n);
  const std::vector<float> b = inputs.floats(n);
  const std::vector<uint16_t> w = inputs.bf16(n);
  hash.add(table.dot(a.data(), b.data(), n));
  hash.add(table.sum(a.data(), n));
  hash.add(table.max(a.data(), n));
  std::vector<float> y = b;
  table.axpy(a[0], a.data(), y.data(), n);
  table.axpy_bf16(b[0], w.data(), y.data(), n);
  table.add(a.data(), y.data(), n);
  table.scale(y.data(), a[n - 1], y.data(), n);
  hash.add(y);
  table.decode_bf16(w.data(), y.data(), n);
  table.scale_gain(y.data(), a[0], b.data(), y.data(), n);
  hash.add(y);
  table.mul_sigmoid(a.data(), b.data(), y.data(), n);
  hash.add(y);
  table.sigmoid(a.data(), y.data(), n);
  hash.add(y);
  table.situ(a.data(), b.data(), 4.0F, 25.0F, y.data(), n);
  hash.add(y);
  table.kda_decay(a.data(), b.data(), 1.5F, -5.0F, y.data(), n);
  hash.add(y);
  y = a;
  table.exp_shifted(y.data(), 1.25F, n);
  hash.add(y);
  for (const size_t width : {1u, 4u, 5u}) {
    const std::vector<float> taps = inputs.floats(n * width);
    const std::vector<float> history = inputs.floats(n * (width - 1));
    table.short_conv(taps.data(), history.data(), a.data(), width, y.data(), n);
    hash.add(y);
  }
}

void add_kda(const KernelTable& table, size_t dk, size_t dv, Inputs& inputs, Hash& hash) {
  std::vector<float> state = inputs.floats(dk * dv);
  std::vector<float> scratch(dv);
  std::vector<float> o(dv);
  for (int token = 0; token < 3; ++token) {
    std::vector<float> decay(dk);
    table.sigmoid(inputs.floats(dk).data(), decay.data(), dk);
    const std::vector<float> q = inputs.floats(dk);
    std::vector<float> k = inputs.floats(dk);
    table.scale(k.data(), 0.01F, k.data(), dk);
    const std::vector<float> v = inputs.floats(dv);
    table.kda_step(state.data(), q.data(), k.data(), v.data(), decay.data(), 0.75F, dk, dv,
                   scratch.data(), o.data());
    hash.add(o);
  }
  hash.add(state);
}

}  // namespace

uint64_t fingerprint(const KernelTable& table) {
  Inputs inputs;
  Hash hash;
  for (const unsigned columns : {1u, 24u, 96u, 256u, 600u, 1536u}) {
    add_matmul_bf16(table, columns, inputs, hash);
  }
  for (const unsigned columns : {32u, 96u, 512u, 1024u, 1536u, 2080u, 3584u}) {
    add_matmul_mxfp4(table, columns, inputs, hash);
  }
  for (const unsigned n : {1u, 5u, 16u, 31u, 32u, 33u, 100u, 4099u})
    add_vectors(table, n, inputs, hash);
  add_kda(table, 128, 128, inputs, hash);
  add_kda(table, 24, 149, inputs, hash);
  return hash.value();
}

}  // namespace sluice::kernels
