#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::text {

/// The 256 single bytes in the order in which K3's vocabulary begins: printable ones first.
[[nodiscard]] std::vector<std::string> single_byte_tokens();

/// Writes a rank file with `tokens` as ranks 0, 1, 2, ... Throws Error(kIo) when it cannot be
/// written.
void write_rank_file(const std::filesystem::path& file, std::span<const std::string> tokens);

/// Writes a rank file for a tokenizer of `vocab_size` tokens, special ones included: the single
/// bytes, then made-up words, each an earlier token and one more byte, so that merging can reach
/// it. The same `vocab_size` gives the same file. Throws Error(kInvalidInput) below 512, Error(kIo)
/// when it cannot be written.
void write_synthetic_rank_file(const std::filesystem::path& file, uint32_t vocab_size);

}  // namespace sluice::text
