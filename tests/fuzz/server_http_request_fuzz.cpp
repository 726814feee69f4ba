// Any bytes as a connection: the requests in them are the same wherever the network cuts them, hold
// text alone, and do not pass without the key.
#include "base/check.h"
#include "server/access.h"
#include "server/http_request_reader.h"
#include "server/read_in_parts.h"
#include "text/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using sluice::server::AccessRules;
using sluice::server::FirstRequest;
using sluice::server::HttpRequest;
using sluice::server::HttpRequestReader;

// Small, so that short inputs reach them.
constexpr HttpRequestReader::Limits kLimits{.body_bytes = 64, .header_bytes = 256};

void check_request(const HttpRequest& request) {
  SLUICE_CHECK(!request.method.empty());
  SLUICE_CHECK(request.path.starts_with('/') || request.path == "*");
  SLUICE_CHECK(sluice::text::find_invalid_utf8(request.path) == std::string::npos);
  SLUICE_CHECK(request.body.size() <= kLimits.body_bytes);
  for (const auto& [name, value] : request.headers) {
    SLUICE_CHECK(std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }));
    SLUICE_CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  }
}

void check_access(const HttpRequest& request) {
  // No header can hold this key.
  const AccessRules with_key{.api_keys = {std::string("\0", 1)}};
  const auto keyed = decide_access(with_key, request);
  SLUICE_CHECK(keyed.status == 401 || request.method != "POST");
  const auto open = decide_access({.bound_host = "127.0.0.1"}, request);
  SLUICE_CHECK(open.status == 0 || open.status == 204 || open.status == 403);
  SLUICE_CHECK(sluice::text::find_invalid_utf8(open.message) == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The first byte says how the rest is cut.
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (!bytes.empty()) {
    const FirstRequest whole = read_in_parts(bytes, bytes.size(), kLimits);
    const FirstRequest parts = read_in_parts(bytes, 1 + data[0] % 16, kLimits);
    SLUICE_CHECK(whole.status() == 0 || whole.status() == 200 || whole.status() >= 400);
    SLUICE_CHECK((whole.status() == 200) == (parts.status() == 200));
    if (whole.status() != 200) return 0;
    const HttpRequest& request = whole.reader.request();
    SLUICE_CHECK(request.path == parts.reader.request().path);
    SLUICE_CHECK(request.headers == parts.reader.request().headers);
    SLUICE_CHECK(request.body == parts.reader.request().body);
    SLUICE_CHECK(whole.left == parts.left);
    check_request(request);
    check_access(request);
    bytes.remove_prefix(bytes.size() - whole.left.size());
  }
  return 0;
}
