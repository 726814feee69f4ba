#include "model/embedding.h"

#include "base/check.h"

namespace sluice::model {

EmbeddingTable::EmbeddingTable(const format::Checkpoint& checkpoint,
                               const format::TensorInfo& tensor)
    : reader_(checkpoint.storage()), tensor_(tensor), row_bytes_(size_t{tensor.shape[1]} * 2) {}

void EmbeddingTable::read(std::span<const TokenId> tokens, std::span<std::byte> rows) {
  SLUICE_CHECK(rows.size() == tokens.size() * row_bytes_);
  for (size_t i = 0; i < tokens.size(); ++i) {
    reader_.read(tensor_.shard,
                 tensor_.offset + static_cast<uint64_t>(tokens[i].value) * row_bytes_,
                 rows.subspan(i * row_bytes_, row_bytes_));
  }
}

}  // namespace sluice::model
