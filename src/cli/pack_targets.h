#pragma once
#include "model/pack_volumes.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::cli {

/// The volumes of `sluice pack`: `to` are values "NAME=DIR" or "NAME=DIR:BYTES" of --to, `rates`
/// values "NAME=MB/s" of --rate. Throws Error(kInvalidInput) that names the option and the value.
[[nodiscard]] std::vector<model::PackTarget> parse_targets(const std::vector<std::string>& to,
                                                           const std::vector<std::string>& rates);

/// Bytes per second by volume, of values "NAME=MB/s". Throws likewise.
[[nodiscard]] std::map<std::string, double> parse_rates(const std::vector<std::string>& values);
/// Bytes by volume, of values "NAME=BYTES" of --room. Throws likewise.
[[nodiscard]] std::map<std::string, uint64_t> parse_rooms(const std::vector<std::string>& values);

}  // namespace sluice::cli
