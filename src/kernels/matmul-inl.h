// Matrix products over the vector type of the file that includes this (see targets.h). No include
// guard: each instruction set compiles its own copy inside its unnamed namespace.

constexpr size_t kBlockBytes = 512;
constexpr size_t kSlices = kOrderLanes / kLanes;  // Vectors that hold the 32 lanes.
constexpr size_t kSliceBytes = 16 * kLanes;       // Bytes of a row under one vector of lanes.

// One activation row. A panel of activations stays in the first-level cache while some rows of
// weights pass; reading it again from the next level would take the buffers that the weights' own
// misses need.
constexpr size_t kDotColumns = 4096;
constexpr size_t kDotRows = 8;
// Slices of one weight row that advance together: the chains of one wait for each other more than
// they compute.
constexpr size_t kDotSlices = kSlices < 2 ? 1 : 2;

// Several activation rows: the same with one slice of a panel at a time, a weight decoded once for
// all of them.
constexpr size_t kTileRows = 32;

// A format's product() multiplies kSpan neighbouring slices of a weight row with kRows activation
// rows, one of the two numbers being 1, and adds to lanes[j], j being the slice or the row. The
// activations for lanes[j] lie at x + j * kLanes, those of the next column kStep<kRows> floats on.
template <size_t kRows>
constexpr size_t kStep = kRows == 1 ? kOrderLanes : kRows * kLanes;

/// One fused chain a lane, in column order.
struct Bf16Format {
  static constexpr size_t kBlockColumns = kBf16BlockColumns;
  static constexpr size_t kPanelBlocks = 4;
  static constexpr bool kHasScales = false;
  static constexpr size_t kDotPrefetchRows =
      4;  // One activation row: weights are asked for so early.

  template <size_t kSpan, size_t kRows>
  static inline void product(const uint8_t* w, const uint8_t*, const float* x, Floats* lanes) {
#pragma GCC unroll 2
    for (size_t s = 0; s < kSpan; ++s) {
      const Words words = load_words(w + s * kSliceBytes);
#pragma GCC unroll 4
      for (size_t k = 0; k < 4; ++k) {
        const Floats first = low_bf16(words.word[k]);
        const Floats second = high_bf16(words.word[k]);
#pragma GCC unroll 8
        for (size_t i = 0; i < kRows; ++i) {
          const size_t j = s * kRows + i;
          const float* at = x + 2 * k * kStep<kRows> + j * kLanes;
          lanes[j] = fused(first, load(at), lanes[j]);
          lanes[j] = fused(second, load(at + kStep<kRows>), lanes[j]);
        }
      }
    }
  }
};

/// lane = fma(even chain + odd chain, scale, lane), the chains over one group of 32 columns.
struct Mxfp4Format {
  static constexpr size_t kBlockColumns = kMxfp4BlockColumns;
  static constexpr size_t kPanelBlocks = 1;
  static constexpr bool kHasScales = true;
  static constexpr size_t kDotPrefetchRows =
      0;  // The processor's own prefetching keeps up with decoding.

  template <size_t kSpan, size_t kRows>
  static inline void product(const uint8_t* codes, const uint8_t* scales, const float* x,
                             Floats* lanes) {
    constexpr size_t kCount = kSpan * kRows;
    Words words[kSpan];
#pragma GCC unroll 2
    for (size_t s = 0; s < kSpan; ++s) words[s] = load_words(codes + s * kSliceBytes);
    Floats even[kCount];
    Floats odd[kCount];
#pragma GCC unroll 8
    for (size_t j = 0; j < kCount; ++j) even[j] = odd[j] = Floats(0.0F);
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) {
      Floats even_weight[kSpan][4];
      Floats odd_weight[kSpan][4];
#pragma GCC unroll 2
      for (size_t s = 0; s < kSpan; ++s) {
        decode_codes<0>(words[s].word[k], even_weight[s]);
        decode_codes<1>(words[s].word[k], odd_weight[s]);
      }
#pragma GCC unroll 4
      for (size_t b = 0; b < 4; ++b) {
#pragma GCC unroll 8
        for (size_t j = 0; j < kCount; ++j) {
          const float* at = x + (8 * k + 2 * b) * kStep<kRows> + j * kLanes;
          even[j] = fused(even_weight[j / kRows][b], load(at), even[j]);
          odd[j] = fused(odd_weight[j / kRows][b], load(at + kStep<kRows>), odd[j]);
        }
      }
    }
#pragma GCC unroll 8
    for (size_t j = 0; j < kCount; ++j) {
      const Floats factor = load_scales(scales + j / kRows * kLanes);
      lanes[j] = fused(even[j] + odd[j], factor, lanes[j]);
    }
  }
};

/// Lays x out so that the columns that the 32 lanes meet together lie together.
template <class Format>
inline void pack(const float* x, size_t columns, float* packed) {
  constexpr size_t kRun = Format::kBlockColumns / kOrderLanes;  // Columns of one lane in a block.
  for (size_t start = 0; start < columns; start += Format::kBlockColumns) {
    for (size_t lane = 0; lane < kOrderLanes; ++lane) {
      for (size_t k = 0; k < kRun; ++k) {
        const size_t column = start + lane * kRun + k;
        packed[start + k * kOrderLanes + lane] = column < columns ? x[column] : 0.0F;
      }
    }
  }
}

inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/// A weight matrix as stored.
struct Stored {
  const uint8_t* bytes;
  const uint8_t* scales;  ///< Null for a format without.
  size_t row_bytes;

  const uint8_t* row(size_t r) const { return bytes + r * row_bytes; }
  /// The scale of the group at `offset` of row `r`.
  const uint8_t* scale(size_t r, size_t offset) const {
    return scales == nullptr ? nullptr : scales + r * (row_bytes / 16) + offset / 16;
  }
  size_t blocks() const { return (row_bytes + kBlockBytes - 1) / kBlockBytes; }
};

/// The slice at `start` of weight row `r`. What the row does not fill counts as +0 weights: they
/// turn a lane of -0 into +0 and else change nothing.
template <class Format, size_t kRows>
inline void any_slice(const Stored& w, size_t r, size_t start, const float* x, Floats* lanes) {
  const size_t left = start < w.row_bytes ? w.row_bytes - start : 0;
  if (left >= kSliceBytes) {
    Format::template product<1, kRows>(w.row(r) + start, w.scale(r, start), x, lanes);
  } else if (left > 0) {
    uint8_t padded[kSliceBytes] = {};
    uint8_t padded_scales[kLanes] = {};
    memcpy(padded, w.row(r) + start, left);
    if constexpr (Format::kHasScales) memcpy(padded_scales, w.scale(r, start), left / 16);
    Format::template product<1, kRows>(padded, padded_scales, x, lanes);
  } else {
    for (size_t i = 0; i < kRows; ++i) lanes[i] = lanes[i] + Floats(0.0F);
  }
}

/// The fixed tree: lane i takes lane i + 16, then + 8, + 4, + 2, + 1. `stride` is from slice to
/// slice.
inline float tree(Floats* lanes, size_t stride) {
#pragma GCC unroll 5
  for (size_t n = kSlices / 2; n > 0; n /= 2) {
#pragma GCC unroll 16
    for (size_t s = 0; s < n; ++s) lanes[s * stride] = lanes[s * stride] + lanes[(s + n) * stride];
  }
  return fold(lanes[0]);
}

/// Blocks [first, end) of one weight row against one activation row.
template <class Format>
inline void row_panel(const Stored& w, size_t r, size_t first, size_t end, const float* x,
                      Floats* lanes) {
  Floats sums[kSlices];
#pragma GCC unroll 8
  for (size_t s = 0; s < kSlices; ++s) sums[s] = lanes[s];
  size_t b = first;
  for (; b < end && (b + 1) * kBlockBytes <= w.row_bytes; ++b) {
    const size_t offset = b * kBlockBytes;
    if constexpr (Format::kDotPrefetchRows > 0) {
#pragma GCC unroll 8
      for (size_t line = 0; line < kBlockBytes; line += 64) {
        prefetch(w.row(r), offset + Format::kDotPrefetchRows * w.row_bytes + line);
      }
    }
#pragma GCC unroll 8
    for (size_t s = 0; s < kSlices; s += kDotSlices) {
      const size_t start = offset + s * kSliceBytes;
      const float* at = x + b * Format::kBlockColumns + s * kLanes;
      Format::template product<kDotSlices, 1>(w.row(r) + start, w.scale(r, start), at, sums + s);
    }
  }
  for (size_t s = 0; b < end && s < kSlices; ++s) {
    const float* at = x + b * Format::kBlockColumns + s * kLanes;
    any_slice<Format, 1>(w, r, b * kBlockBytes + s * kSliceBytes, at, sums + s);
  }
#pragma GCC unroll 8
  for (size_t s = 0; s < kSlices; ++s) lanes[s] = sums[s];
}

/// One activation row against all weight rows.
template <class Format>
inline void row_product(const MatmulShape& shape, const Stored& w, const float* x, float* y) {
  constexpr size_t kPanelBlocks = kDotColumns / Format::kBlockColumns;
  Floats lanes[kDotRows][kSlices];
  const size_t blocks = w.blocks();
  for (size_t tile = 0; tile < shape.w_rows; tile += kDotRows) {
    const size_t count = smaller(shape.w_rows - tile, kDotRows);
    for (size_t t = 0; t < count; ++t) {
      for (size_t s = 0; s < kSlices; ++s) lanes[t][s] = Floats(0.0F);
    }
    for (size_t b = 0; b < blocks; b += kPanelBlocks) {
      const size_t end = smaller(b + kPanelBlocks, blocks);
      for (size_t t = 0; t < count; ++t) row_panel<Format>(w, tile + t, b, end, x, lanes[t]);
    }
    for (size_t t = 0; t < count; ++t) y[tile + t] = tree(lanes[t], 1);
  }
}

/// Slice `s` of the blocks [first, end) of one weight row against the kRows activation rows of
/// `panel`.
template <class Format, size_t kRows>
inline void rows_panel(const Stored& w, size_t r, size_t first, size_t end, size_t s,
                       const float* panel, Floats* lanes) {
  Floats sums[kRows];
#pragma GCC unroll 8
  for (size_t i = 0; i < kRows; ++i) sums[i] = lanes[i];
  for (size_t b = first; b < end; ++b) {
    any_slice<Format, kRows>(w, r, b * kBlockBytes + s * kSliceBytes, panel, sums);
    panel += Format::kBlockColumns / kOrderLanes * kStep<kRows>;
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kRows; ++i) lanes[i] = sums[i];
}

/// Copies slice `s` of the blocks [first, end) of kRows activation rows in the order in which they
/// will be read: close together, whatever x_stride is.
template <class Format, size_t kRows>
inline void fill_panel(const float* x, size_t x_stride, size_t first, size_t end, size_t s,
                       float* panel) {
  const float* from = x + first * Format::kBlockColumns + s * kLanes;
  const float* last = x + end * Format::kBlockColumns;
  for (; from < last; from += kOrderLanes) {
    for (size_t i = 0; i < kRows; ++i) store(panel + i * kLanes, load(from + i * x_stride));
    panel += kStep<kRows>;
  }
}

/// kRows activation rows against all weight rows.
template <class Format, size_t kRows>
inline void rows_product(const MatmulShape& shape, const Stored& w, const float* x, float* y) {
  alignas(
      64) float panel[Format::kPanelBlocks * Format::kBlockColumns / kOrderLanes * kStep<kRows>];
  Floats lanes[kSlices][kTileRows * kRows];
  const size_t blocks = w.blocks();
  for (size_t tile = 0; tile < shape.w_rows; tile += kTileRows) {
    const size_t count = smaller(shape.w_rows - tile, kTileRows);
    for (size_t s = 0; s < kSlices; ++s) {
      for (size_t j = 0; j < kTileRows * kRows; ++j) lanes[s][j] = Floats(0.0F);
    }
    for (size_t b = 0; b < blocks; b += Format::kPanelBlocks) {
      const size_t end = smaller(b + Format::kPanelBlocks, blocks);
      // What the same slice of the next panel, or of the next tile, will read.
      const size_t ahead = end < blocks ? end * kBlockBytes : kTileRows * w.row_bytes;
      for (size_t s = 0; s < kSlices; ++s) {
        fill_panel<Format, kRows>(x, shape.x_stride, b, end, s, panel);
        for (size_t t = 0; t < count; ++t) {
          for (size_t next = 0; next < Format::kPanelBlocks; ++next) {
            for (size_t line = 0; line < kSliceBytes; line += 64) {
              prefetch(w.row(tile + t), ahead + next * kBlockBytes + s * kSliceBytes + line);
            }
          }
          rows_panel<Format, kRows>(w, tile + t, b, end, s, panel, &lanes[s][t * kRows]);
        }
      }
    }
    for (size_t t = 0; t < count; ++t) {
      for (size_t i = 0; i < kRows; ++i) {
        y[i * shape.y_stride + tile + t] = tree(&lanes[0][t * kRows + i], kTileRows * kRows);
      }
    }
  }
}

template <class Format>
inline void matmul(const MatmulShape& shape, const Stored& w, const float* x, float* y) {
  size_t i = 0;
  const auto left = [&](size_t rows) { return shape.x_rows - i >= rows; };
  const auto at = [&] { return x + i * shape.x_stride; };
  const auto out = [&] { return y + i * shape.y_stride; };
  if constexpr (kMatmulRows >= 8) {
    for (; left(8); i += 8) rows_product<Format, 8>(shape, w, at(), out());
  }
  for (; left(4); i += 4) rows_product<Format, 4>(shape, w, at(), out());
  for (; left(2); i += 2) rows_product<Format, 2>(shape, w, at(), out());
  for (; left(1); i += 1) row_product<Format>(shape, w, at(), out());
}

void pack_bf16(const float* x, size_t columns, float* packed) {
  pack<Bf16Format>(x, columns, packed);
}
void pack_mxfp4(const float* x, size_t columns, float* packed) {
  pack<Mxfp4Format>(x, columns, packed);
}

void matmul_bf16(const MatmulShape& shape, const void* w, const float* x_packed, float* y) {
  const Stored stored{static_cast<const uint8_t*>(w), nullptr, 2 * shape.columns};
  matmul<Bf16Format>(shape, stored, x_packed, y);
}

void matmul_mxfp4(const MatmulShape& shape, const void* codes, const void* scales,
                  const float* x_packed, float* y) {
  const Stored stored{static_cast<const uint8_t*>(codes), static_cast<const uint8_t*>(scales),
                      shape.columns / 2};
  matmul<Mxfp4Format>(shape, stored, x_packed, y);
}
