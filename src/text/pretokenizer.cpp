#include "text/pretokenizer.h"

#include "base/check.h"
#include "base/error.h"
#include "text/unicode_classes.h"
#include "text/utf8.h"

#include <limits>

namespace sluice::text {
namespace {

constexpr size_t kNoMatch = 0;  // No match can end at the start of the text.

// The pattern's alternatives over one text, each as a function from a start to an end.
class Scanner {
 public:
  explicit Scanner(const ScalarText& text) : text_(text), size_(text.classes.size()) {}

  // The alternatives in the order of the pattern; the first that matches wins.
  [[nodiscard]] size_t piece_end(size_t begin) const {
    if (has(begin, kHan)) return run(begin, kHan);
    if (const size_t end = word(begin); end != kNoMatch) return end;
    if (has(begin, kNumber)) return numbers(begin);
    if (const size_t end = punctuation(begin); end != kNoMatch) return end;
    return spaces(begin);
  }

 private:
  [[nodiscard]] bool has(size_t at, uint8_t bits) const {
    return at < size_ && (text_.classes[at] & bits) != 0;
  }

  [[nodiscard]] bool has_none(size_t at, uint8_t bits) const {
    return at < size_ && (text_.classes[at] & bits) == 0;
  }

  [[nodiscard]] size_t run(size_t at, uint8_t bits) const {
    while (has(at, bits)) ++at;
    return at;
  }

  // Alternatives 2 and 3, [^\r\n\p{L}\p{N}]?U*L+ and [^\r\n\p{L}\p{N}]?U+L*, both with a
  // contraction.
  [[nodiscard]] size_t word(size_t begin) const {
    const bool may_prefix = has_none(begin, kNewline | kLetter | kNumber);
    size_t end = kNoMatch;
    if (may_prefix) end = cased(begin + 1);
    if (end == kNoMatch) end = cased(begin);
    if (end == kNoMatch && may_prefix) end = uppers(begin + 1);
    if (end == kNoMatch) end = uppers(begin);
    return end == kNoMatch ? kNoMatch : end + contraction(end);
  }

  // U*L+. U* is greedy; when L+ finds nothing after it, U* gives back scalars until one is in L
  // too.
  [[nodiscard]] size_t cased(size_t begin) const {
    const size_t upper_end = run(begin, kUpper);
    if (has(upper_end, kLower)) return run(upper_end, kLower);
    for (size_t at = upper_end; at > begin; --at) {
      if (has(at - 1, kLower)) return at;
    }
    return kNoMatch;
  }

  // U+L* where U*L+ has failed, so that no scalar of the run is in L and L* is empty.
  [[nodiscard]] size_t uppers(size_t begin) const {
    const size_t end = run(begin, kUpper);
    return end == begin ? kNoMatch : end;
  }

  // The scalars of (?i:'s|'t|'re|'ve|'m|'ll|'d) at `at`, or 0. Ignoring case, s is also U+017F.
  [[nodiscard]] size_t contraction(size_t at) const {
    const std::string_view rest = text_.bytes.substr(text_.offsets[at]);
    if (rest.size() < 2 || rest[0] != '\'') return 0;
    const char first = lower(rest[1]), second = rest.size() > 2 ? lower(rest[2]) : '\0';
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l')) {
      return 3;
    }
    return rest.substr(1).starts_with("\xC5\xBF") ? 2 : 0;
  }

  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

  // Alternative 4, \p{N}{1,3}.
  [[nodiscard]] size_t numbers(size_t begin) const {
    size_t end = begin + 1;
    while (end < begin + 3 && has(end, kNumber)) ++end;
    return end;
  }

  // Alternative 5, " ?[^\s\p{L}\p{N}]+[\r\n]*".
  [[nodiscard]] size_t punctuation(size_t begin) const {
    const size_t first = text_.bytes[text_.offsets[begin]] == ' ' ? begin + 1 : begin;
    size_t end = first;
    while (has_none(end, kSpace | kLetter | kNumber)) ++end;
    return end == first ? kNoMatch : run(end, kNewline);
  }

  // Alternatives 6, 7 and 8: \s*[\r\n]+, else \s+(?!\S), else \s+.
  [[nodiscard]] size_t spaces(size_t begin) const {
    const size_t end = run(begin, kSpace);
    for (size_t at = end; at > begin; --at) {
      if (has(at - 1, kNewline)) return at;
    }
    return end == size_ || end == begin + 1 ? end : end - 1;
  }

  const ScalarText& text_;
  size_t size_;
};

}  // namespace

void split_chunks(std::string_view text, const ChunkLimits& limits,
                  std::vector<std::string_view>& chunks) {
  const UnicodeClasses& classes = unicode_classes();
  size_t begin = 0, slice = 0, run = 0;
  bool in_space = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = first_scalar(text.substr(at));
    if (step.kind != Utf8Step::Kind::kScalar) {
      throw Error(ErrorCode::kInvalidInput, "the text is not valid UTF-8 at byte {}", at);
    }
    const bool is_space = is_python_space(step.scalar, classes.of(step.scalar));
    const bool slice_full = slice == limits.slice_scalars;
    // A slice knows nothing of the one before, so its first scalar begins a run too.
    if (slice_full || is_space != in_space) run = 0;
    if (slice_full || run == limits.run_scalars) {
      chunks.push_back(text.substr(begin, at - begin));
      begin = at;
      run = 0;
    }
    if (slice_full) slice = 0;
    in_space = is_space;
    ++run;
    ++slice;
    at += step.length;
  }
  if (begin < text.size()) chunks.push_back(text.substr(begin));
}

void read_scalars(std::string_view text, ScalarText& out) {
  SLUICE_CHECK(text.size() < std::numeric_limits<uint32_t>::max());
  const UnicodeClasses& classes = unicode_classes();
  out.bytes = text;
  out.classes.clear();
  out.offsets.clear();
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = first_scalar(text.substr(at));
    SLUICE_CHECK(step.kind == Utf8Step::Kind::kScalar);
    out.classes.push_back(classes.of(step.scalar));
    out.offsets.push_back(static_cast<uint32_t>(at));
    at += step.length;
  }
  out.offsets.push_back(static_cast<uint32_t>(text.size()));
}

size_t piece_end(const ScalarText& text, size_t begin) {
  SLUICE_CHECK(begin < text.classes.size());
  const size_t end = Scanner(text).piece_end(begin);
  SLUICE_CHECK(end > begin);
  return end;
}

}  // namespace sluice::text
