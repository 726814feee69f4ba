#pragma once
#include "base/check.h"
#include "base/crc32.h"
#include "format/plain_bytes.h"
#include "format/read_trace.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How the blocks of a read trace are put together and taken apart, as docs/formats.md has it.
namespace sluice::format {

inline constexpr std::array<std::string_view, 6> kTraceMagics = {"SLRD", "READ", "RQST", "WAIT",
                                                                 "WSTE", "ENDS"};  // By TraceBlock.
inline constexpr uint64_t kTraceCrcBytes = sizeof(uint32_t);
// More than any block has, so that a damaged head does not ask for all memory.
inline constexpr uint32_t kTraceBodyMax = 1u << 26;

/// The bytes of a block as they are put together.
class TraceBlockWriter {
 public:
  explicit TraceBlockWriter(TraceBlock kind) {
    for (const char c : kTraceMagics[static_cast<size_t>(kind)]) put(c);
    put(uint32_t{0});  // Its size, when it is known.
  }
  template <class T>
  void put(const T& value) {
    append(bytes_, value);
  }
  void put_count(size_t count) { put(static_cast<uint32_t>(count)); }
  void put_text(const std::string& text) {
    put_count(text.size());
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_texts(const std::vector<std::string>& texts) {
    put_count(texts.size());
    for (const std::string& text : texts) put_text(text);
  }
  [[nodiscard]] std::vector<std::byte> finish() {
    const auto body = static_cast<uint32_t>(bytes_.size() - kTraceBlockHeadBytes);
    SLUICE_CHECK(body <= kTraceBodyMax);
    std::memcpy(bytes_.data() + kTraceBlockHeadBytes - sizeof body, &body, sizeof body);
    put(crc32(bytes_));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes a block apart. What is asked of it beyond its end is empty, and complete() tells.
class TraceBlockReader {
 public:
  explicit TraceBlockReader(std::span<const std::byte> block)
      : rest_(block.subspan(kTraceBlockHeadBytes,
                            block.size() - kTraceBlockHeadBytes - kTraceCrcBytes)) {}
  template <class T>
  T get() {
    T value{};
    const std::span<const std::byte> bytes = take(sizeof value);
    if (ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  /// Of things that take at least so many bytes each, so that no damaged count asks for more
  /// memory than the block has.
  size_t get_count(size_t bytes_each) {
    const auto count = get<uint32_t>();
    ok_ &= count <= rest_.size() / bytes_each;
    return ok_ ? count : 0;
  }
  std::string get_text() {
    const std::span<const std::byte> bytes = take(get_count(1));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<std::string> get_texts() {
    std::vector<std::string> texts(get_count(sizeof(uint32_t)));
    for (std::string& text : texts) text = get_text();
    return texts;
  }
  /// Whether so many bytes follow.
  [[nodiscard]] bool has(uint64_t bytes) const { return bytes <= rest_.size(); }
  /// Everything was there, and nothing more.
  [[nodiscard]] bool complete() const { return ok_ && rest_.empty(); }

 private:
  std::span<const std::byte> take(size_t bytes) {
    ok_ &= bytes <= rest_.size();
    if (!ok_) return {};
    const std::span<const std::byte> taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace sluice::format
