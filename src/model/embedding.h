#pragma once
#include "base/types.h"
#include "format/checkpoint.h"
#include "format/storage_reader.h"

#include <cstddef>
#include <span>
#include <vector>

namespace sluice::model {

/// The embedding table of a checkpoint, read a row at a time: it is as large as two layers, and a
/// token needs one row of it.
class EmbeddingTable {
 public:
  /// `tensor`: BF16 [vocab, hidden]. The checkpoint must outlive it.
  EmbeddingTable(const format::Checkpoint& checkpoint, const format::TensorInfo& tensor);

  /// Bytes of one row.
  [[nodiscard]] size_t row_bytes() const { return row_bytes_; }
  /// rows: [tokens.size(), row_bytes()]. Tokens must be in the vocabulary. Throws as
  /// StorageReader::read() does. One thread.
  void read(std::span<const TokenId> tokens, std::span<std::byte> rows);

 private:
  format::StorageReader reader_;
  const format::TensorInfo& tensor_;
  const size_t row_bytes_;
};

}  // namespace sluice::model
