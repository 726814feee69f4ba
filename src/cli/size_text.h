#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::cli {

/// Bytes from a text such as "512MiB", "20GB", "1.5GiB" or "4096". Throws Error(kInvalidInput) that
/// names `option`.
[[nodiscard]] uint64_t parse_bytes(std::string_view text, std::string_view option);

/// The size of a read: "64 KiB", "17 MiB", "4096 B".
[[nodiscard]] std::string read_size_text(uint64_t bytes);

}  // namespace sluice::cli
