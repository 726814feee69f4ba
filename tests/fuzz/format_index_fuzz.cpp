// Any text as an index: it is refused with an Error, or its entries name plain files. And our JSON
// reader agrees with another one about what is JSON.
#include "base/check.h"
#include "base/error.h"
#include "format/json_reader.h"
#include "format/weight_index.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace {

const std::string kPath = "fuzz.json";

bool is_json(std::string_view text) {
  try {
    sluice::format::JsonReader reader(text, kPath);
    reader.skip();
    reader.finish();
    return true;
  } catch (const sluice::Error&) {
    return false;
  }
}

// The other reader takes a NUL for the end, skips a byte order mark, has no limit of depth, and
// refuses numbers that do not fit a double.
bool comparable(std::string_view text) {
  const auto brackets =
      std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; });
  bool large_number = text.size() > 300;
  for (size_t i = 1; i < text.size(); ++i) {
    const bool exponent = text[i] == 'e' || text[i] == 'E';
    large_number |= exponent && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0;
  }
  return !large_number && brackets <= sluice::format::JsonReader::kDepthMax &&
         text.find('\0') == std::string_view::npos && !text.starts_with('\xef');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (comparable(text)) SLUICE_CHECK(is_json(text) == nlohmann::json::accept(text));
  try {
    sluice::format::parse_index(text, kPath, [](std::string_view, std::string_view shard) {
      SLUICE_CHECK(!shard.empty() && shard.front() != '.');
      SLUICE_CHECK(shard.find('/') == std::string_view::npos);
    });
    SLUICE_CHECK(is_json(text));
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(std::string_view(error.what()).starts_with(kPath));
  }
  return 0;
}
