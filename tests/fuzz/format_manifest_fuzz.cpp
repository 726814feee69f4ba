// Any text as a manifest or volume file: it is refused with an Error, or what was read would be
// written as a file that says the same.
#include "base/check.h"
#include "base/error.h"
#include "format/manifest.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

const std::string kPath = "fuzz.json";

template <class Parse, class Encode>
void check(std::string_view text, Parse parse, Encode encode) {
  try {
    const auto value = parse(text, kPath);
    SLUICE_CHECK(parse(encode(value), kPath) == value);
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(std::string_view(error.what()).starts_with(kPath));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::format;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, parse_manifest, encode_manifest);
  check(text, parse_volume_file, encode_volume_file);
  return 0;
}
