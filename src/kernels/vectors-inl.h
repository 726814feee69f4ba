// Vector entries and the KDA step over the vector type of the file that includes this (see
// targets.h). No include guard: each instruction set compiles its own copy inside its unnamed
// namespace.

/// A whole vector, or the first `count` elements of one; the others read as +0 and are not written.
struct Whole {};
struct Part {
  size_t count;
};

inline Floats get(const float* p, Whole) { return load(p); }
inline Floats get(const float* p, Part part) { return load_part(p, part.count); }
inline void put(float* p, Floats value, Whole) { store(p, value); }
inline void put(float* p, Floats value, Part part) { store_part(p, value, part.count); }
inline Floats get_bf16(const uint8_t* p, Whole) { return load_bf16(p); }
inline Floats get_bf16(const uint8_t* p, Part part) {
  uint8_t padded[2 * kLanes] = {};
  memcpy(padded, p, 2 * part.count);
  return load_bf16(padded);
}

/// Calls op(index, Whole or Part) over 0 .. n.
template <class Op>
inline void each_vector(size_t n, Op op) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) op(i, Whole{});
  if (i < n) op(i, Part{n - i});
}

/// Reduces n elements in 32 lanes: lane = step(index, Whole or Part, lane). The last block counts
/// as padded with elements that add +0.
template <class Step>
inline float reduce_lanes(size_t n, Step step) {
  Floats lanes[kSlices];
  for (size_t s = 0; s < kSlices; ++s) lanes[s] = Floats(0.0F);
  size_t i = 0;
  for (; i + kOrderLanes <= n; i += kOrderLanes) {
#pragma GCC unroll 8
    for (size_t s = 0; s < kSlices; ++s) lanes[s] = step(i + s * kLanes, Whole{}, lanes[s]);
  }
  for (size_t s = 0; i < n && s < kSlices; ++s) {
    const size_t start = i + s * kLanes;
    if (start + kLanes <= n) {
      lanes[s] = step(start, Whole{}, lanes[s]);
    } else if (start < n) {
      lanes[s] = step(start, Part{n - start}, lanes[s]);
    } else {
      lanes[s] = lanes[s] + Floats(0.0F);
    }
  }
  return tree(lanes, 1);
}

float dot(const float* a, const float* b, size_t n) {
  return reduce_lanes(n, [=](size_t i, auto part, Floats lane) {
    return fused(get(a + i, part), get(b + i, part), lane);
  });
}

float sum(const float* x, size_t n) {
  return reduce_lanes(n, [=](size_t i, auto part, Floats lane) { return lane + get(x + i, part); });
}

inline Floats larger(Floats best, Floats value) {
  best = select(less(best, value), value, best);
  return select(is_nan(value), value, best);
}

float max(const float* x, size_t n) {
  // Elements repeat where n does not fill a vector; a maximum does not mind.
  float first[kLanes];
  for (size_t i = 0; i < kLanes; ++i) first[i] = x[i < n ? i : 0];
  Floats best = load(first);
  for (size_t i = kLanes; i + kLanes <= n; i += kLanes) best = larger(best, load(x + i));
  if (n > kLanes) best = larger(best, load(x + n - kLanes));
  store(first, best);
  float result = first[0];
  for (size_t i = 1; i < kLanes; ++i) {
    if (result < first[i] || first[i] != first[i]) result = first[i];
  }
  return result + 0.0F;  // -0 and +0 compare equal, so a zero maximum is always +0.
}

void axpy(float a, const float* x, float* y, size_t n) {
  each_vector(n, [=](size_t i, auto part) {
    put(y + i, fused(Floats(a), get(x + i, part), get(y + i, part)), part);
  });
}

void axpy_bf16(float a, const void* w, float* y, size_t n) {
  const auto* bytes = static_cast<const uint8_t*>(w);
  each_vector(n, [=](size_t i, auto part) {
    put(y + i, fused(Floats(a), get_bf16(bytes + 2 * i, part), get(y + i, part)), part);
  });
}

void decode_bf16(const void* w, float* y, size_t n) {
  const auto* bytes = static_cast<const uint8_t*>(w);
  each_vector(n, [=](size_t i, auto part) { put(y + i, get_bf16(bytes + 2 * i, part), part); });
}

void scale_gain(const float* x, float factor, const float* gain, float* y, size_t n) {
  each_vector(n, [=](size_t i, auto part) {
    put(y + i, (get(x + i, part) * Floats(factor)) * get(gain + i, part), part);
  });
}

void scale(const float* x, float factor, float* y, size_t n) {
  each_vector(n, [=](size_t i, auto part) { put(y + i, get(x + i, part) * Floats(factor), part); });
}

void add(const float* x, float* y, size_t n) {
  each_vector(n,
              [=](size_t i, auto part) { put(y + i, get(y + i, part) + get(x + i, part), part); });
}

void mul_sigmoid(const float* x, const float* gate, float* y, size_t n) {
  each_vector(n, [=](size_t i, auto part) {
    put(y + i, get(x + i, part) * math::sigmoid(get(gate + i, part)), part);
  });
}

void sigmoid(const float* x, float* y, size_t n) {
  each_vector(n, [=](size_t i, auto part) { put(y + i, math::sigmoid(get(x + i, part)), part); });
}

void exp_shifted(float* x, float shift, size_t n) {
  each_vector(n, [=](size_t i, auto part) {
    put(x + i, math::exp(get(x + i, part) - Floats(shift)), part);
  });
}

void situ(const float* g, const float* u, float beta, float linear_beta, float* y, size_t n) {
  each_vector(n, [=](size_t i, auto part) {
    const Floats value =
        math::situ(get(g + i, part), get(u + i, part), Floats(beta), Floats(linear_beta));
    put(y + i, value, part);
  });
}

/// taps[c, j] of the channels under one vector, element by element.
inline Floats get_tap(const float* taps, size_t width, size_t count) {
  float column[kLanes] = {};
  for (size_t c = 0; c < count; ++c) column[c] = taps[c * width];
  return load(column);
}

void short_conv(const float* taps, const float* history, const float* x, size_t width, float* y,
                size_t n) {
  const auto channels = [=](size_t i, auto part, size_t count) {
    Floats sum_of_taps = Floats(0.0F);
    for (size_t j = 0; j + 1 < width; ++j) {
      const Floats tap = get_tap(taps + i * width + j, width, count);
      sum_of_taps = fused(tap, get(history + j * n + i, part), sum_of_taps);
    }
    const Floats tap = get_tap(taps + i * width + width - 1, width, count);
    put(y + i, math::silu(fused(tap, get(x + i, part), sum_of_taps)), part);
  };
  each_vector(n, [=](size_t i, auto part) { channels(i, part, n - i < kLanes ? n - i : kLanes); });
}

void kda_decay(const float* z, const float* bias, float rate, float lower_bound, float* decay,
               size_t n) {
  each_vector(n, [=](size_t i, auto part) {
    const Floats gate = math::sigmoid(Floats(rate) * (get(z + i, part) + get(bias + i, part)));
    put(decay + i, math::exp(Floats(lower_bound) * gate), part);
  });
}

struct KdaHead {
  float* state;
  const float* q;
  const float* k;
  const float* v;
  const float* decay;
  float beta;
  size_t dk;
  size_t dv;
  float* change;  // beta (v - u), the wanted change of each value column.
  float* o;
};

/// The prediction u and the change of kVectors vectors of value columns from `j` on. The state is
/// only read: the second sweep decays it again, to the same bits, rather than write it twice.
template <size_t kVectors, class Extent>
inline void kda_predict(const KdaHead& head, size_t j, Extent extent) {
  Floats u[kVectors];
#pragma GCC unroll 8
  for (size_t c = 0; c < kVectors; ++c) u[c] = Floats(0.0F);
  for (size_t i = 0; i < head.dk; ++i) {
    const Floats decay(head.decay[i]);
    const Floats key(head.k[i]);
    const float* row = head.state + i * head.dv + j;
#pragma GCC unroll 8
    for (size_t c = 0; c < kVectors; ++c) {
      u[c] = fused(key, decay * get(row + c * kLanes, extent), u[c]);
    }
  }
#pragma GCC unroll 8
  for (size_t c = 0; c < kVectors; ++c) {
    const Floats value = get(head.v + j + c * kLanes, extent);
    put(head.change + j + c * kLanes, Floats(head.beta) * (value - u[c]), extent);
  }
}

/// Decays and changes the state of those columns and reads the output from it.
template <size_t kVectors, class Extent>
inline void kda_update(const KdaHead& head, size_t j, Extent extent) {
  Floats o[kVectors];
#pragma GCC unroll 8
  for (size_t c = 0; c < kVectors; ++c) o[c] = Floats(0.0F);
  for (size_t i = 0; i < head.dk; ++i) {
    const Floats decay(head.decay[i]);
    const Floats key(head.k[i]);
    const Floats query(head.q[i]);
    float* row = head.state + i * head.dv + j;
#pragma GCC unroll 8
    for (size_t c = 0; c < kVectors; ++c) {
      const Floats change = get(head.change + j + c * kLanes, extent);
      const Floats cell = fused(key, change, decay * get(row + c * kLanes, extent));
      put(row + c * kLanes, cell, extent);
      o[c] = fused(query, cell, o[c]);
    }
  }
#pragma GCC unroll 8
  for (size_t c = 0; c < kVectors; ++c) put(head.o + j + c * kLanes, o[c], extent);
}

void kda_step(float* state, const float* q, const float* k, const float* v, const float* decay,
              float beta, size_t dk, size_t dv, float* scratch, float* o) {
  const KdaHead head{state, q, k, v, decay, beta, dk, dv, scratch, o};
  constexpr size_t kWide = 8;
  size_t j = 0;
  for (; j + kWide * kLanes <= dv; j += kWide * kLanes) {
    kda_predict<kWide>(head, j, Whole{});
    kda_update<kWide>(head, j, Whole{});
  }
  each_vector(dv - j, [&](size_t i, auto part) {
    kda_predict<1>(head, j + i, part);
    kda_update<1>(head, j + i, part);
  });
}

constexpr KernelTable table_of(const char* target) {
  return {.target = target,
          .pack_bf16 = pack_bf16,
          .pack_mxfp4 = pack_mxfp4,
          .matmul_bf16 = matmul_bf16,
          .matmul_mxfp4 = matmul_mxfp4,
          .dot = dot,
          .sum = sum,
          .max = max,
          .axpy = axpy,
          .axpy_bf16 = axpy_bf16,
          .decode_bf16 = decode_bf16,
          .scale_gain = scale_gain,
          .scale = scale,
          .add = add,
          .mul_sigmoid = mul_sigmoid,
          .sigmoid = sigmoid,
          .exp_shifted = exp_shifted,
          .situ = situ,
          .short_conv = short_conv,
          .kda_decay = kda_decay,
          .kda_step = kda_step};
}
