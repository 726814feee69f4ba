#include "text/unicode_classes.h"

#include "text/utf8.h"

#include <cstddef>
#include <map>

namespace sluice::text {

UnicodeClasses::UnicodeClasses() {
  const std::span<const uint32_t> runs = unicode_class_runs();
  std::map<std::array<uint8_t, kPage>, uint16_t> known;
  size_t run = 0;
  for (size_t page = 0; page < page_of_.size(); ++page) {
    std::array<uint8_t, kPage> bits;
    for (uint32_t i = 0; i < kPage; ++i) {
      const auto scalar = static_cast<uint32_t>(page * kPage + i);
      if (run + 1 < runs.size() && scalar >= runs[run + 1] >> 8) ++run;
      bits[i] = static_cast<uint8_t>(runs[run]);
    }
    const auto [entry, is_new] = known.try_emplace(bits, static_cast<uint16_t>(known.size()));
    if (is_new) pages_.insert(pages_.end(), bits.begin(), bits.end());
    page_of_[page] = entry->second;
  }
}

const UnicodeClasses& unicode_classes() {
  static const UnicodeClasses classes;
  return classes;
}

bool is_python_blank(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = first_scalar(text);
    if (step.kind != Utf8Step::Kind::kScalar) return false;
    if (!is_python_space(step.scalar, unicode_classes().of(step.scalar))) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

}  // namespace sluice::text
