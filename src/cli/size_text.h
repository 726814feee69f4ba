#pragma once
#include <cstdint>
#include <string_view>

namespace sluice::cli {

/// Bytes from a text such as "512MiB", "20GB", "1.5GiB" or "4096". Throws Error(kInvalidInput) that
/// names `option`.
[[nodiscard]] uint64_t parse_bytes(std::string_view text, std::string_view option);

}  // namespace sluice::cli
