#pragma once
#include "base/types.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::format {

/// Checkpoint::digest() of the released files: the same for every copy of a checkpoint.
using ModelId = Id<struct ModelTag, uint64_t>;
/// Drawn when a volume is made; says which one it is wherever its drive is mounted.
using VolumeId = Id<struct VolumeTag, std::array<uint8_t, 16>>;

/// Lower-case hexadecimal digits: 16 of a model's id, 32 of a volume's.
[[nodiscard]] std::string to_text(ModelId id);
[[nodiscard]] std::string to_text(VolumeId id);
/// Nothing when the text is not what to_text() writes.
[[nodiscard]] std::optional<ModelId> parse_model_id(std::string_view text);
[[nodiscard]] std::optional<VolumeId> parse_volume_id(std::string_view text);

/// From the random numbers of the system.
[[nodiscard]] VolumeId new_volume_id();

}  // namespace sluice::format
