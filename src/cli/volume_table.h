#pragma once
#include "format/volumes.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// The volumes of a model for people: what each has, where it is and on which device.
[[nodiscard]] std::string volume_table(const std::vector<format::Volume>& volumes);
/// The same as a JSON array of objects.
[[nodiscard]] std::string volumes_json(const std::vector<format::Volume>& volumes);

}  // namespace sluice::cli
