// Any bytes as a .safetensors file: they are refused with an Error, or every tensor lies inside the
// file and has the size of its shape.
#include "base/check.h"
#include "base/error.h"
#include "format/safetensors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::format;
  const std::string path = "fuzz.safetensors";
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  try {
    const uint64_t length = header_length(file.first(std::min<size_t>(size, 8)), file.size(), path);
    const std::string_view json(reinterpret_cast<const char*>(data) + 8, length);
    uint64_t total = 0;
    parse_header(json, file.size(), path, [&](const HeaderTensor& tensor) {
      uint64_t bytes = dtype_bytes(tensor.dtype);
      SLUICE_CHECK(tensor.rank <= tensor.shape.size());
      for (size_t i = 0; i < tensor.rank; ++i) bytes *= tensor.shape[i];
      SLUICE_CHECK(tensor.bytes == bytes);
      SLUICE_CHECK(tensor.offset >= 8 + length && tensor.offset <= file.size());
      SLUICE_CHECK(tensor.bytes <= file.size() - tensor.offset);
      SLUICE_CHECK(!is_vision_tensor(tensor.name));
      total += bytes;
    });
    SLUICE_CHECK(total <= file.size() - 8 - length);
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(std::string_view(error.what()).starts_with(path));
  }
  return 0;
}
