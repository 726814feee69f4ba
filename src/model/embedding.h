#pragma once
#include "base/types.h"
#include "format/checkpoint.h"
#include "io/input_file.h"

#include <cstddef>
#include <span>
#include <vector>

namespace sluice::model {

/// The embedding table of a checkpoint, read a row at a time: it is as large as two layers, and a
/// token needs one row of it.
class EmbeddingTable {
 public:
  /// `tensor`: BF16 [vocab, hidden]. Throws Error(kIo) that names the file.
  EmbeddingTable(const format::Checkpoint& checkpoint, const format::TensorInfo& tensor);

  /// Bytes of one row.
  [[nodiscard]] size_t row_bytes() const { return row_bytes_; }
  /// rows: [tokens.size(), row_bytes()]. Tokens must be in the vocabulary. Throws Error(kIo).
  void read(std::span<const TokenId> tokens, std::span<std::byte> rows) const;

 private:
  io::InputFile file_;
  const uint64_t offset_;
  const size_t row_bytes_;
};

}  // namespace sluice::model
