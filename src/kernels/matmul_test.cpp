// Without these tests a matrix product could depend on the instruction set, on how many rows share
// a call, on the alignment of the weights, or read behind a checkpoint's last byte.
#include "kernels/testing.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace sluice::kernels {
namespace {

using testing::bits;
using testing::Guarded;
using testing::kSeed;
using testing::Random;

constexpr std::array<float, 16> kCodes = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                          -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

float bf16(const uint8_t* row, size_t column) {
  return math::from_bits(static_cast<uint32_t>(row[2 * column] | row[2 * column + 1] << 8) << 16);
}
float code(const uint8_t* row, size_t column) {
  return kCodes[row[column / 2] >> (column % 2 * 4) & 15];
}
float power(uint8_t scale) { return std::ldexp(1.0F, scale - 127); }

float tree_of(std::array<float, 32> lanes) {
  for (size_t n = 16; n > 0; n /= 2) {
    for (size_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  }
  return lanes[0];
}

// The two orders of docs/numerics.md, word for word.
float ordered_bf16(const uint8_t* row, const float* x, size_t columns) {
  std::array<float, 32> lanes{};
  for (size_t c = 0; c < (columns + 255) / 256 * 256; ++c) {
    float& lane = lanes[c / 8 % 32];
    lane = c < columns ? std::fma(bf16(row, c), x[c], lane) : std::fma(0.0F, 0.0F, lane);
  }
  return tree_of(lanes);
}

float ordered_mxfp4(const uint8_t* codes, const uint8_t* scales, const float* x, size_t columns) {
  std::array<float, 32> lanes{};
  for (size_t group = 0; group < (columns + 1023) / 1024 * 32; ++group) {
    float& lane = lanes[group % 32];
    if (32 * group >= columns) {
      lane = std::fma(0.0F, 1.0F, lane);
      continue;
    }
    float even = 0.0F;
    float odd = 0.0F;
    for (size_t c = 32 * group; c < 32 * group + 32; c += 2) {
      even = std::fma(code(codes, c), x[c], even);
      odd = std::fma(code(codes, c + 1), x[c + 1], odd);
    }
    lane = std::fma(even + odd, power(scales[group]), lane);
  }
  return tree_of(lanes);
}

struct Case {
  size_t columns, w_rows, x_rows;
};

std::string name_of(const KernelTable& table, const Case& c) {
  return std::string(table.target) + ", columns " + std::to_string(c.columns) + ", weight rows " +
         std::to_string(c.w_rows) + ", activation rows " + std::to_string(c.x_rows) + ", seed " +
         std::to_string(kSeed);
}

/// Runs `matmul` as the backend would and returns y [x_rows, w_rows]. Between the rows of y nothing
/// may change.
template <class Pack, class Matmul>
std::vector<float> run(const Case& c, const std::vector<float>& x, size_t block, Pack pack,
                       Matmul matmul) {
  const size_t floats = packed_floats(c.columns, block);
  Guarded<float> packed(c.x_rows * floats);
  for (size_t i = 0; i < c.x_rows; ++i) {
    const Guarded<float> row({x.begin() + static_cast<std::ptrdiff_t>(i * c.columns),
                              x.begin() + static_cast<std::ptrdiff_t>((i + 1) * c.columns)});
    pack(row.data(), c.columns, packed.data() + i * floats);
  }
  const size_t y_stride = c.w_rows + 3;
  Guarded<float> y(c.x_rows * y_stride - 3);
  std::fill_n(y.data(), c.x_rows * y_stride - 3, -77.0F);
  matmul(MatmulShape{.w_rows = c.w_rows,
                     .columns = c.columns,
                     .x_rows = c.x_rows,
                     .x_stride = floats,
                     .y_stride = y_stride},
         packed.data(), y.data());
  std::vector<float> result;
  for (size_t i = 0; i < c.x_rows; ++i) {
    for (size_t r = 0; r < y_stride && i * y_stride + r < c.x_rows * y_stride - 3; ++r) {
      if (r < c.w_rows) {
        result.push_back(y[i * y_stride + r]);
      } else {
        EXPECT_EQ(y[i * y_stride + r], -77.0F);
      }
    }
  }
  return result;
}

void check_bf16(const Case& c, bool specials) {
  Random random(kSeed + c.columns);
  Guarded<uint8_t> w(c.w_rows * c.columns * 2);  // Ends at the page's end, so starts anywhere.
  for (size_t i = 0; i < c.w_rows * c.columns; ++i) {
    const uint32_t value = math::to_bits(specials ? random.special() : random.value());
    w[2 * i] = static_cast<uint8_t>(value >> 16);
    w[2 * i + 1] = static_cast<uint8_t>(value >> 24);
  }
  const std::vector<float> x =
      specials ? random.specials(c.x_rows * c.columns) : random.values(c.x_rows * c.columns);
  std::vector<float> expected;
  for (size_t i = 0; i < c.x_rows; ++i) {
    for (size_t r = 0; r < c.w_rows; ++r) {
      const uint8_t* row = w.data() + r * c.columns * 2;
      const float* x_row = x.data() + i * c.columns;
      expected.push_back(ordered_bf16(row, x_row, c.columns));
      if (specials) continue;
      double sum = 0;
      double size = 0;
      for (size_t k = 0; k < c.columns; ++k) {
        const double product = static_cast<double>(bf16(row, k)) * static_cast<double>(x_row[k]);
        sum += product;
        size += std::fabs(product);
      }
      // A term passes one rounding a step of its lane and five of the tree.
      const double steps = 8.0 * static_cast<double>(c.columns / 256 + 1) + 5;
      EXPECT_NEAR(static_cast<double>(expected.back()), sum, steps * 0x1p-24 * size);
    }
  }
  for (const KernelTable* table : runnable_kernels()) {
    const auto y = run(c, x, kBf16BlockColumns, table->pack_bf16,
                       [&](const MatmulShape& shape, const float* packed, float* out) {
                         table->matmul_bf16(shape, w.data(), packed, out);
                       });
    EXPECT_EQ(bits(y), bits(expected)) << name_of(*table, c);
  }
}

void check_mxfp4(const Case& c, bool specials) {
  Random random(kSeed + c.columns);
  const size_t groups = c.columns / 32;
  Guarded<uint8_t> codes(c.w_rows * c.columns / 2);
  Guarded<uint8_t> scales(c.w_rows * groups);
  for (size_t i = 0; i < c.w_rows * c.columns / 2; ++i) {
    codes[i] = static_cast<uint8_t>(random.below(256));
  }
  constexpr uint8_t kExtremes[] = {0, 1, 254};
  for (size_t i = 0; i < c.w_rows * groups; ++i) {
    scales[i] = specials && random.below(4) == 0 ? kExtremes[random.below(3)]
                                                 : static_cast<uint8_t>(119 + random.below(9));
  }
  const std::vector<float> x =
      specials ? random.specials(c.x_rows * c.columns) : random.values(c.x_rows * c.columns);
  std::vector<float> expected;
  for (size_t i = 0; i < c.x_rows; ++i) {
    for (size_t r = 0; r < c.w_rows; ++r) {
      const uint8_t* row = codes.data() + r * c.columns / 2;
      const uint8_t* row_scales = scales.data() + r * groups;
      const float* x_row = x.data() + i * c.columns;
      expected.push_back(ordered_mxfp4(row, row_scales, x_row, c.columns));
      if (specials) continue;
      double sum = 0;
      double size = 0;
      for (size_t k = 0; k < c.columns; ++k) {
        const double w = static_cast<double>(code(row, k) * power(row_scales[k / 32]));
        sum += w * static_cast<double>(x_row[k]);
        size += std::fabs(w * static_cast<double>(x_row[k]));
      }
      // Sixteen steps of a chain, the two chains, one step a block, the tree.
      const double steps = 16 + 1 + static_cast<double>(c.columns / 1024 + 1) + 5;
      EXPECT_NEAR(static_cast<double>(expected.back()), sum, steps * 0x1p-24 * size);
    }
  }
  for (const KernelTable* table : runnable_kernels()) {
    const auto y = run(c, x, kMxfp4BlockColumns, table->pack_mxfp4,
                       [&](const MatmulShape& shape, const float* packed, float* out) {
                         table->matmul_mxfp4(shape, codes.data(), scales.data(), packed, out);
                       });
    EXPECT_EQ(bits(y), bits(expected)) << name_of(*table, c);
  }
}

TEST(Matmul, Bf16FollowsTheDocumentedOrder) {
  for (size_t columns = 1; columns <= 600; columns += columns < 70 ? 1 : 23) {
    check_bf16({columns, columns % 10, 1 + columns % 4}, false);
  }
  for (const size_t columns :
       std::initializer_list<size_t>{64, 96, 248, 255, 256, 257, 264, 511, 512, 513, 1536}) {
    check_bf16({columns, 5, 3}, false);
  }
}

TEST(Matmul, Mxfp4FollowsTheDocumentedOrder) {
  for (size_t columns = 32; columns <= 2112; columns += 32) {
    check_mxfp4({columns, columns / 32 % 10, 1 + columns / 32 % 4}, false);
  }
}

TEST(Matmul, EveryNumberOfRowsGivesTheSameBits) {
  for (size_t x_rows = 1; x_rows <= 17; ++x_rows) {
    check_bf16({328, 9, x_rows}, false);
    check_mxfp4({1120, 9, x_rows}, false);
  }
  for (size_t w_rows = 0; w_rows <= 9; ++w_rows) {
    check_bf16({24, w_rows, 9}, false);
    check_mxfp4({96, w_rows, 9}, false);
  }
  // More weight rows than a tile has, and more columns than a panel.
  check_bf16({4096 + 264, 41, 1}, false);
  check_bf16({1536, 67, 8}, false);
  check_mxfp4({3584, 67, 8}, false);
  check_mxfp4({5152, 11, 1}, false);
}

TEST(Matmul, ZerosDenormalsAndInfinitiesAgree) {
  for (const size_t x_rows : std::initializer_list<size_t>{1, 2, 4, 8}) {
    for (const size_t columns : std::initializer_list<size_t>{1, 7, 40, 256, 300})
      check_bf16({columns, 6, x_rows}, true);
    for (const size_t columns : std::initializer_list<size_t>{32, 64, 512, 1056})
      check_mxfp4({columns, 6, x_rows}, true);
  }
}

TEST(Matmul, EveryCodeAndScaleIsExact) {
  constexpr size_t kColumns = 32;
  Guarded<uint8_t> codes(255 * kColumns / 2);
  Guarded<uint8_t> scales(255);
  for (size_t r = 0; r < 255; ++r) {
    scales[r] = static_cast<uint8_t>(r);
    for (size_t b = 0; b < kColumns / 2; ++b) {  // Column c has code (c + r) mod 16.
      codes[r * kColumns / 2 + b] =
          static_cast<uint8_t>(((2 * b + r) & 15) | ((2 * b + 1 + r) & 15) << 4);
    }
  }
  const Case c{kColumns, 255, kColumns};
  std::vector<float> x(kColumns * kColumns);
  for (size_t i = 0; i < kColumns; ++i) x[i * kColumns + i] = 1.0F;
  for (const KernelTable* table : runnable_kernels()) {
    const auto y = run(c, x, kMxfp4BlockColumns, table->pack_mxfp4,
                       [&](const MatmulShape& shape, const float* packed, float* out) {
                         table->matmul_mxfp4(shape, codes.data(), scales.data(), packed, out);
                       });
    for (size_t i = 0; i < kColumns; ++i) {
      for (size_t r = 0; r < 255; ++r) {
        const float expected = std::ldexp(kCodes[(i + r) & 15], static_cast<int>(r) - 127);
        ASSERT_EQ(y[i * 255 + r], expected) << name_of(*table, c) << ", scale " << r;
      }
    }
  }
}

// A lane becomes -0 when a negative product underflows. Padding makes it +0 again; a code of -0
// does not.
TEST(Matmul, SignsOfZerosAgree) {
  for (const size_t x_rows : std::initializer_list<size_t>{1, 2, 4, 8}) {
    for (const size_t columns : std::initializer_list<size_t>{256, 264, 384, 512}) {
      const std::vector<float> x(x_rows * columns, 0x1p-100F);
      std::vector<uint8_t> w;
      for (size_t i = 0; i < 3 * columns; ++i) {  // -2^-100
        w.push_back(0x80);
        w.push_back(0x8d);
      }
      const float expected = ordered_bf16(w.data(), x.data(), columns);
      EXPECT_EQ(std::signbit(expected), columns % 256 == 0);
      for (const KernelTable* table : runnable_kernels()) {
        const Case c{columns, 3, x_rows};
        const auto y = run(c, x, kBf16BlockColumns, table->pack_bf16,
                           [&](const MatmulShape& shape, const float* packed, float* out) {
                             table->matmul_bf16(shape, w.data(), packed, out);
                           });
        EXPECT_EQ(bits(y), bits(std::vector<float>(3 * x_rows, expected))) << name_of(*table, c);
      }
    }
    constexpr size_t kColumns = 2048;
    const std::vector<float> x(x_rows * kColumns, 0x1p-149F);
    std::vector<uint8_t> codes(kColumns / 2, 0xaa);  // -1, which the scale makes underflow.
    for (size_t b = kColumns / 4; b < kColumns / 2; ++b) codes[b] = b % 16 == 0 ? 0x99 : 0x88;
    const std::vector<uint8_t> scales(kColumns / 32, 0);
    EXPECT_TRUE(std::signbit(ordered_mxfp4(codes.data(), scales.data(), x.data(), kColumns)));
    for (const KernelTable* table : runnable_kernels()) {
      const Case c{kColumns, 1, x_rows};
      const auto y = run(c, x, kMxfp4BlockColumns, table->pack_mxfp4,
                         [&](const MatmulShape& shape, const float* packed, float* out) {
                           table->matmul_mxfp4(shape, codes.data(), scales.data(), packed, out);
                         });
      EXPECT_EQ(bits(y), bits(std::vector<float>(x_rows, -0.0F))) << name_of(*table, c);
    }
  }
}

TEST(Matmul, WeightsMayStartAnywhere) {
  Random random(kSeed);
  for (const size_t columns : std::initializer_list<size_t>{96, 1056}) {
    const std::vector<float> x = random.values(columns);
    std::vector<uint8_t> bytes(2 * 3 * columns);
    for (size_t i = 0; i < bytes.size(); i += 2) {
      const uint32_t value = math::to_bits(random.value());
      bytes[i] = static_cast<uint8_t>(value >> 16);
      bytes[i + 1] = static_cast<uint8_t>(value >> 24);
    }
    const std::vector<uint8_t> scales(3 * columns / 32, 121);
    const Case c{columns, 3, 1};
    for (size_t offset = 0; offset < 16; ++offset) {
      std::vector<uint8_t> moved(offset + bytes.size());
      std::vector<uint8_t> moved_scales(offset + scales.size(), 121);
      std::copy(bytes.begin(), bytes.end(), moved.begin() + static_cast<std::ptrdiff_t>(offset));
      for (const KernelTable* table : runnable_kernels()) {
        const auto bf16_y = run(c, x, kBf16BlockColumns, table->pack_bf16,
                                [&](const MatmulShape& shape, const float* packed, float* out) {
                                  table->matmul_bf16(shape, moved.data() + offset, packed, out);
                                });
        const auto mxfp4_y = run(c, x, kMxfp4BlockColumns, table->pack_mxfp4,
                                 [&](const MatmulShape& shape, const float* packed, float* out) {
                                   table->matmul_mxfp4(shape, moved.data() + offset,
                                                       moved_scales.data() + offset, packed, out);
                                 });
        for (size_t r = 0; r < 3; ++r) {
          EXPECT_EQ(bf16_y[r], ordered_bf16(bytes.data() + r * columns * 2, x.data(), columns));
          EXPECT_EQ(mxfp4_y[r], ordered_mxfp4(bytes.data() + r * columns / 2, scales.data(),
                                              x.data(), columns));
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::kernels
