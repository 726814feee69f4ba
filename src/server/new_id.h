#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::server {

/// `prefix` and 24 random letters and digits, such as chatcmpl-...; any thread.
[[nodiscard]] std::string new_id(std::string_view prefix);

/// The seed of a request that brings none; any thread.
[[nodiscard]] uint64_t random_seed();

}  // namespace sluice::server
