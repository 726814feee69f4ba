#pragma once
#include "model/pack_volumes.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// The volumes of `sluice pack`: `to` are values "NAME=DIR" or "NAME=DIR:BYTES" of --to, `rates`
/// values "NAME=MB/s" of --rate. Throws Error(kInvalidInput) that names the option and the value.
[[nodiscard]] std::vector<model::PackTarget> parse_targets(const std::vector<std::string>& to,
                                                           const std::vector<std::string>& rates);

}  // namespace sluice::cli
