// Any bytes as a route trace: they are refused with an Error, or every pass that is read would be
// written as the same bytes.
#include "base/check.h"
#include "base/error.h"
#include "format/route_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::format;
  const std::string path = "fuzz.slrt";
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
  try {
    const RouteTraceHeader header = parse_trace_header(rest, path);
    rest = rest.subspan(kTraceHeaderBytes);
    RoutePass pass;
    while (rest.size() >= kPassHeadBytes) {
      const std::optional<uint64_t> bytes = parse_pass_head(header, rest.first(kPassHeadBytes));
      if (!bytes || *bytes > rest.size()) break;
      if (!parse_pass(header, rest.first(*bytes), path, pass)) break;
      SLUICE_CHECK(std::ranges::equal(encode_pass(header, pass), rest.first(*bytes)));
      rest = rest.subspan(*bytes);
    }
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(std::string_view(error.what()).starts_with(path));
  }
  return 0;
}
