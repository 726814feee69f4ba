#pragma once
#include "model/loaded_model.h"

#include <cstdint>

namespace sluice::server {

/// Weights that a pass may use, experts that it does not included.
[[nodiscard]] uint64_t parameter_count(const model::LoadedModel& loaded);

}  // namespace sluice::server
