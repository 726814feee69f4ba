#pragma once
#include "backend/backend.h"
#include "base/check.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

namespace sluice::backend {

/// The memory half of a backend whose tensors are arrays of Number in ordinary memory. Rows start
/// wherever the previous one ends; the first is aligned to a cache line.
template <class Number>
class HostBackend : public Backend {
 public:
  [[nodiscard]] Tensor allocate(uint32_t rows, uint32_t cols) final {
    const size_t bytes = std::max<size_t>(size_t{rows} * cols * sizeof(Number), 1);
    auto* data = static_cast<std::byte*>(::operator new(bytes, kAlignment));
    std::memset(data, 0, bytes);
    owned_.emplace(data, Memory(data));
    return {data, rows, cols, sizeof(Number)};
  }
  void release(Tensor tensor) final { SLUICE_CHECK(owned_.erase(tensor.data) == 1); }
  [[nodiscard]] uint32_t element_bytes() const final { return sizeof(Number); }

  void upload(std::span<const float> from, Tensor to) final {
    SLUICE_CHECK(from.size() == to.size());
    std::copy(from.begin(), from.end(), numbers(to));
  }
  void download(Tensor from, std::span<float> to) final {
    SLUICE_CHECK(from.size() == to.size());
    std::transform(numbers(from), numbers(from) + from.size(), to.begin(),
                   [](Number x) { return static_cast<float>(x); });
  }
  void download_raw(Tensor from, std::span<std::byte> to) final {
    SLUICE_CHECK(to.size() == from.size() * sizeof(Number));
    std::copy_n(from.data, to.size(), to.data());
  }
  void upload_raw(std::span<const std::byte> from, Tensor to) final {
    SLUICE_CHECK(from.size() == to.size() * sizeof(Number));
    std::copy_n(from.data(), from.size(), to.data);
  }
  void zero(Tensor tensor) final { std::fill_n(numbers(tensor), tensor.size(), Number{0}); }
  void copy(Tensor from, Tensor to) final {
    SLUICE_CHECK(from.rows == to.rows && from.cols == to.cols);
    std::memmove(to.data, from.data, from.size() * sizeof(Number));
  }

 protected:
  static Number* numbers(Tensor tensor) { return reinterpret_cast<Number*>(tensor.data); }
  static Number* row(Tensor tensor, size_t r) { return numbers(tensor) + r * tensor.cols; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  std::unordered_map<std::byte*, Memory> owned_;
};

}  // namespace sluice::backend
