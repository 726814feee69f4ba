#include "model/embedding.h"

#include "base/check.h"
#include "base/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace sluice::model {

EmbeddingTable::EmbeddingTable(const format::Checkpoint& checkpoint,
                               const format::TensorInfo& tensor)
    : path_(checkpoint.files()[tensor.file.value].path.string()),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)),
      offset_(tensor.offset),
      row_bytes_(size_t{tensor.shape[1]} * 2) {
  if (file_ < 0) {
    throw Error(ErrorCode::kIo, "{}: cannot be opened for the embedding table: {}", path_,
                std::strerror(errno));
  }
}

EmbeddingTable::~EmbeddingTable() { ::close(file_); }

void EmbeddingTable::read(std::span<const TokenId> tokens, std::span<std::byte> rows) const {
  SLUICE_CHECK(rows.size() == tokens.size() * row_bytes_);
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::byte* row = rows.data() + i * row_bytes_;
    const uint64_t at = offset_ + static_cast<uint64_t>(tokens[i].value) * row_bytes_;
    for (size_t done = 0; done < row_bytes_;) {
      const ssize_t n =
          ::pread(file_, row + done, row_bytes_ - done, static_cast<off_t>(at + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        throw Error(ErrorCode::kIo, "{}: the embedding of token {} cannot be read at byte {}: {}",
                    path_, tokens[i].value, at + done,
                    n < 0 ? std::strerror(errno) : "the file has become shorter");
      }
      done += static_cast<size_t>(n);
    }
  }
}

}  // namespace sluice::model
