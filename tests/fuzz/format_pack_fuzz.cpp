// Any bytes as header and index of a pack, with the right checksums, which no search would find:
// they are refused with an Error, or every piece lies in the file and all would be written as the
// same bytes.
#include "base/check.h"
#include "base/error.h"
#include "format/pack.h"
#include "format/piece_decoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace sluice::format;

// docs/formats.md has these places.
constexpr size_t kFieldBytes = 104, kIndexOffsetAt = 80, kIndexChecksumAt = 96,
                 kHeaderChecksumAt = 4088;

/// A header with the fields of the input, its two checksums made right.
std::array<std::byte, kPackHeaderBytes> seal(std::span<const std::byte> fields,
                                             std::span<const std::byte> index) {
  std::array<std::byte, kPackHeaderBytes> block{};
  std::ranges::copy(fields, block.begin());
  const uint64_t index_checksum = piece_checksum(index);
  std::memcpy(&block[kIndexChecksumAt], &index_checksum, sizeof index_checksum);
  const uint64_t checksum = piece_checksum(std::span(block).first(kHeaderChecksumAt));
  std::memcpy(&block[kHeaderChecksumAt], &checksum, sizeof checksum);
  return block;
}

void check_pack(const Pack& pack, std::span<const std::byte> index) {
  for (const StoredSegment& segment : pack.segments) {
    for (const StoredPiece& piece : segment.held) {
      SLUICE_CHECK(piece.offset >= kPackHeaderBytes);
      SLUICE_CHECK(piece.offset + piece.stored_bytes <= pack.header.index_offset);
      SLUICE_CHECK(piece.memory_block * sluice::io::kBlockBytes + piece.bytes() <=
                   segment.layout.memory_bytes);
    }
  }
  SLUICE_CHECK(std::ranges::equal(encode_pack_index(pack.segments), index));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = "fuzz.slpack";
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  const std::span<const std::byte> fields = input.first(std::min(size, kFieldBytes));
  const std::span<const std::byte> index = input.subspan(fields.size());
  const auto block = seal(fields, index);
  uint64_t index_offset = 0;
  std::memcpy(&index_offset, &block[kIndexOffsetAt], sizeof index_offset);
  try {
    const uint64_t file_bytes = index_offset + index.size();
    const PackHeader header = parse_pack_header(block, file_bytes, path);
    SLUICE_CHECK(parse_pack_header(encode_pack_header(header), file_bytes, path) == header);
    if (header.index_bytes == index.size()) check_pack(parse_pack(header, index, path), index);
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(std::string_view(error.what()).starts_with(path));
  }
  return 0;
}
