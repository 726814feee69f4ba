#pragma once
#include "base/check.h"
#include "kernels/kernel_table.h"
#include "kernels/math.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

/// What the tests of this folder share.
namespace sluice::kernels::testing {

/// An array that ends where memory ends: touching what follows it stops the program.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t count) : count_(count) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t used = (count * sizeof(T) + page - 1) / page * page;
    mapped_ = used + page;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SLUICE_CHECK(base_ != MAP_FAILED);
    SLUICE_CHECK(mprotect(base_ + used, page, PROT_NONE) == 0);
    data_ = reinterpret_cast<T*>(base_ + used - count * sizeof(T));
  }
  explicit Guarded(const std::vector<T>& values) : Guarded(values.size()) {
    if (!values.empty()) std::memcpy(data_, values.data(), values.size() * sizeof(T));
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, mapped_); }

  T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  [[nodiscard]] std::vector<T> values() const { return {data_, data_ + count_}; }

 private:
  size_t count_;
  size_t mapped_ = 0;
  std::byte* base_ = nullptr;
  T* data_ = nullptr;
};

/// The bits of floats, every NaN as one: which NaN comes out is not part of the contract.
inline std::vector<uint32_t> bits(std::span<const float> values) {
  std::vector<uint32_t> result;
  for (const float value : values) {
    result.push_back(value != value ? 0x7fc00000U : math::to_bits(value));
  }
  return result;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t below(size_t n) { return static_cast<size_t>(engine_() % n); }
  /// Of either sign, |value| in about 2^-8 .. 2^4.
  float value() {
    const auto r = static_cast<uint32_t>(engine_());
    return math::from_bits((r & 0x807fffffU) | ((119U + (r >> 23) % 12U) << 23));
  }
  /// Sometimes a zero, a denormal, an infinity or a NaN.
  float special() {
    constexpr uint32_t kBits[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff,
                                  0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x00800000};
    return below(3) == 0 ? math::from_bits(kBits[below(10)]) : value();
  }
  std::vector<float> values(size_t n) {
    std::vector<float> result(n);
    for (float& x : result) x = value();
    return result;
  }
  std::vector<float> specials(size_t n) {
    std::vector<float> result(n);
    for (float& x : result) x = special();
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

/// A failing test prints it; the tests are the same in every run.
inline constexpr uint64_t kSeed = 20240229;

}  // namespace sluice::kernels::testing
