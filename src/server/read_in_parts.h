#pragma once
#include "base/check.h"
#include "server/http_request_reader.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

/// For tests and fuzzing of HttpRequestReader.
namespace sluice::server {

/// The first request of a connection, and the bytes behind it.
struct FirstRequest {
  HttpRequestReader reader;
  std::string left{};

  /// 200 when it was read, 0 while more is waited for.
  [[nodiscard]] int status() const {
    if (reader.refusal()) return reader.refusal()->status;
    return reader.done() ? 200 : 0;
  }
};

/// Reads a connection whose bytes come in parts of this size.
inline FirstRequest read_in_parts(std::string_view bytes, size_t part,
                                  const HttpRequestReader::Limits& limits) {
  FirstRequest first{.reader = HttpRequestReader(limits)};
  HttpRequestReader& reader = first.reader;
  while (!bytes.empty() && !reader.done() && !reader.refusal()) {
    first.left += bytes.substr(0, part);
    bytes.remove_prefix(std::min(part, bytes.size()));
    const size_t taken = reader.take(first.left);
    SLUICE_CHECK(taken <= first.left.size());
    first.left.erase(0, taken);
  }
  first.left += bytes;
  return first;
}

}  // namespace sluice::server
