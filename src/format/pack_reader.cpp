#include "format/pack_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>

namespace sluice::format {
namespace {

using io::InputFile;
using io::kBlockBytes;

std::string trouble_of(PieceVerdict verdict) {
  switch (verdict) {
    case PieceVerdict::kGood:
      return {};
    case PieceVerdict::kWrongChecksum:
      return "their checksum is another";
    case PieceVerdict::kBrokenFrame:
      return "they do not decode";
  }
  return {};
}

}  // namespace

Pack read_pack(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> bytes(std::min(file.bytes(), kPackHeaderBytes));
  file.read(0, bytes);
  const PackHeader header = parse_pack_header(bytes, file.bytes(), path);
  bytes.resize(header.index_bytes);
  file.read(header.index_offset, bytes);
  return parse_pack(header, bytes, path);
}

PieceReader::PieceReader(const std::string& path)
    : file_(path, InputFile::Access::kDirect), memory_(nullptr, &std::free) {}

std::string PieceReader::read(const Holder& holder, uint64_t piece_bytes) {
  if (piece_bytes > memory_bytes_) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kBlockBytes, piece_bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
    memory_bytes_ = piece_bytes;
  }
  piece_ = {memory_.get(), piece_bytes};
  std::string trouble =
      read_blocks(holder.offset, piece_.first(round_up(holder.stored_bytes, kBlockBytes)));
  if (trouble.empty()) trouble = trouble_of(decoder_.accept(holder, piece_));
  if (trouble.empty()) return trouble;
  return fmt::format("bytes {} to {}: {}", holder.offset, holder.offset + holder.stored_bytes - 1,
                     trouble);
}

// Empty, or what went wrong.
std::string PieceReader::read_blocks(uint64_t offset, std::span<std::byte> into) {
  for (size_t done = 0; done < into.size();) {
    const int64_t n = file_.read_some(offset + done, into.subspan(done));
    if (n == -EINVAL && file_.direct()) {
      file_.stop_direct();
    } else if (n <= 0) {
      return n < 0 ? std::strerror(static_cast<int>(-n)) : "the file ends there";
    } else {
      done += static_cast<size_t>(n);
    }
  }
  return {};
}

void check_pieces(
    const std::string& path, const Pack& pack,
    const std::function<void(const StoredSegment&, const StoredPiece&, std::string_view)>& visit) {
  PieceReader reader(path);
  for (const StoredSegment& segment : pack.segments) {
    for (const StoredPiece& piece : segment.held) {
      visit(segment, piece, reader.read(piece.holder(), piece.bytes()));
    }
  }
}

}  // namespace sluice::format
