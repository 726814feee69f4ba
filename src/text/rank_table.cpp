#include "text/rank_table.h"

#include "base/check.h"
#include "base/error.h"
#include "base/read_file.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>

namespace sluice::text {
namespace {

std::string read_ranks(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    throw Error(
        ErrorCode::kNotFound,
        "{}: there is no such file; copy the tokenizer files of the model beside its weights",
        path.string());
  }
  constexpr uint64_t kRankBytesMax = 1u << 30;
  FileText file = sluice::read_file(path, kRankBytesMax);
  if (!file.trouble.empty()) throw Error(ErrorCode::kIo, "{}: {}", path.string(), file.trouble);
  return std::move(file.text);
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

// Nothing when it is not canonical base64 of at least one byte.
std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i >= text.size() - padding;
    const int digit = is_padding ? 0 : base64_digit(text[i]);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 0xFF);
    bits = 0;
  }
  const auto unused = bytes.end() - static_cast<std::ptrdiff_t>(padding);
  // Bits that no byte holds must be zero, else two spellings would name one token.
  if (std::any_of(unused, bytes.end(), [](char c) { return c != 0; })) return std::nullopt;
  bytes.erase(unused, bytes.end());
  return bytes;
}

// The bytes of the line of token `rank`.
std::string parse_line(std::string_view line, uint32_t rank, const std::filesystem::path& path) {
  const size_t space = line.find(' ');
  const auto bytes = decode_base64(line.substr(0, space));
  if (space == std::string_view::npos || !bytes) {
    throw Error(ErrorCode::kCorrupt, "{} line {}: expected base64, a space and a rank",
                path.string(), rank + 1);
  }
  const std::string_view digits = line.substr(space + 1);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value != rank) {
    throw Error(ErrorCode::kCorrupt, "{} line {}: expected rank {}, found \"{}\"", path.string(),
                rank + 1, rank, digits);
  }
  return *bytes;
}

}  // namespace

RankTable::RankTable(const std::filesystem::path& path) {
  const std::string text = read_ranks(path);
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  slots_.resize(std::bit_ceil(2 * lines));
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::string token = parse_line(line, size(), path);
    if (const uint32_t earlier = find(token); earlier != kNone) {
      throw Error(ErrorCode::kCorrupt, "{} line {}: the token of rank {} once more", path.string(),
                  size() + 1, earlier);
    }
    add(token, path);
  }
  for (size_t byte = 0; byte < byte_rank_.size(); ++byte) {
    const auto token = static_cast<char>(byte);
    byte_rank_[byte] = find({&token, 1});
    if (byte_rank_[byte] == kNone) {
      throw Error(ErrorCode::kCorrupt, "{}: no token for the single byte 0x{:02x}", path.string(),
                  byte);
    }
  }
}

void RankTable::add(std::string_view token, const std::filesystem::path& file) {
  constexpr size_t kMaxBytes = std::numeric_limits<int32_t>::max();
  if (arena_.size() + token.size() > kMaxBytes) {
    throw Error(ErrorCode::kUnsupported, "{}: its tokens have more than {} bytes", file.string(),
                kMaxBytes);
  }
  const size_t hash = std::hash<std::string_view>{}(token);
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].rank != kNone) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {size(), static_cast<uint32_t>(hash >> 32)};
  arena_ += token;
  offsets_.push_back(static_cast<uint32_t>(arena_.size()));
  longest_ = std::max(longest_, token.size());
}

uint32_t RankTable::find(std::string_view token) const {
  if (token.size() > longest_) return kNone;
  const size_t hash = std::hash<std::string_view>{}(token);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.rank == kNone) return kNone;
    if (slot.hash == tag && bytes(slot.rank) == token) return slot.rank;
  }
}

namespace {

// Makes the heap's front the merge that comes first.
bool comes_later(const RankTable::Scratch::Merge& a, const RankTable::Scratch::Merge& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.begin > b.begin;
}

}  // namespace

// Notes that the part at `begin` and the one after it could merge, if they can.
void RankTable::push_merge(std::string_view piece, uint32_t begin, Scratch& scratch) const {
  const uint32_t middle = scratch.next[begin];
  if (middle == piece.size()) return;
  const uint32_t end = scratch.next[middle];
  const uint32_t rank = find(piece.substr(begin, end - begin));
  if (rank == kNone) return;
  scratch.heap.push_back({rank, begin, end});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), comes_later);
}

void RankTable::encode_piece(std::string_view piece, Scratch& scratch,
                             std::vector<TokenId>& out) const {
  SLUICE_CHECK(!piece.empty());
  if (const uint32_t rank = find(piece); rank != kNone) {
    out.push_back({static_cast<int32_t>(rank)});
    return;
  }
  // A part is known by its first byte; next[] is its end and so the part after it. 0 marks a byte
  // that does not begin a part.
  const auto size = static_cast<uint32_t>(piece.size());
  scratch.next.resize(size);
  scratch.previous.resize(size);
  scratch.rank.resize(size);
  scratch.heap.clear();
  for (uint32_t i = 0; i < size; ++i) {
    scratch.next[i] = i + 1;
    scratch.previous[i] = i - 1;
    scratch.rank[i] = byte_rank_[static_cast<uint8_t>(piece[i])];
  }
  for (uint32_t i = 0; i < size; ++i) push_merge(piece, i, scratch);
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), comes_later);
    const Scratch::Merge merge = scratch.heap.back();
    scratch.heap.pop_back();
    // Outdated unless [begin, end) is still exactly two parts.
    const uint32_t middle = scratch.next[merge.begin];
    if (middle == 0 || middle >= merge.end || scratch.next[middle] != merge.end) continue;
    scratch.next[merge.begin] = merge.end;
    scratch.rank[merge.begin] = merge.rank;
    scratch.next[middle] = 0;
    if (merge.end < size) scratch.previous[merge.end] = merge.begin;
    push_merge(piece, merge.begin, scratch);
    if (merge.begin > 0) push_merge(piece, scratch.previous[merge.begin], scratch);
  }
  for (uint32_t begin = 0; begin < size; begin = scratch.next[begin]) {
    out.push_back({static_cast<int32_t>(scratch.rank[begin])});
  }
}

}  // namespace sluice::text
