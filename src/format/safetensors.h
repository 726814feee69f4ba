#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::format {

enum class DType : uint8_t { kBF16, kF32, kU8 };
[[nodiscard]] std::string_view dtype_name(DType dtype);  ///< "BF16", "F32", "U8".
[[nodiscard]] uint64_t dtype_bytes(DType dtype);

/// A header longer than this is refused; the longest of the released files has 0.8 MB.
inline constexpr uint64_t kHeaderBytesMax = 100'000'000;

/// One entry of a safetensors header.
struct HeaderTensor {
  std::string_view name;  ///< Valid during the call only.
  DType dtype = DType::kBF16;
  uint8_t rank = 0;
  std::array<uint32_t, 4> shape{};
  uint64_t offset = 0;  ///< Bytes from the start of the file.
  uint64_t bytes = 0;
};

/// The first eight bytes of a file of `file_bytes`: the length of the JSON that follows. Throws
/// Error(kCorrupt) that names `path` when such a header cannot be.
[[nodiscard]] uint64_t header_length(std::span<const std::byte> prefix, uint64_t file_bytes,
                                     const std::string& path);

/// Parses the JSON of a header and calls `visit` for each tensor. Checks that names are unique,
/// that each size is that of shape and dtype, and that the tensors fill the file from the header to
/// its end without holes or overlaps. Tensors of the vision part are checked for their place only.
/// Throws Error that names `path` and the tensor: kCorrupt, and kUnsupported for a dtype that no
/// text tensor of K3 has.
void parse_header(std::string_view json, uint64_t file_bytes, const std::string& path,
                  const std::function<void(const HeaderTensor&)>& visit);

/// True for tensors that a text engine skips.
[[nodiscard]] bool is_vision_tensor(std::string_view name);

}  // namespace sluice::format
