// Any text as a plan: it is refused with an Error, or what was read would be written as a file that
// says the same.
#include "base/check.h"
#include "base/error.h"
#include "format/placement_file.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::format;
  static const std::string kPath = "fuzz.json";
  try {
    const PlacementFile placement =
        parse_placement_file({reinterpret_cast<const char*>(data), size}, kPath);
    SLUICE_CHECK(parse_placement_file(encode_placement_file(placement), kPath) == placement);
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(std::string_view(error.what()).starts_with(kPath));
  }
  return 0;
}
