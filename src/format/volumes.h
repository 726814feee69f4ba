#pragma once
#include "format/ids.h"
#include "format/manifest.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::format {

/// A folder with files of a model, usually on a drive of its own.
struct Volume {
  std::optional<VolumeId> id;    ///< Of a volume with packs; a folder of shards has none.
  std::string label;             ///< Likewise.
  std::filesystem::path folder;  ///< Where it is, or, when it is missing, was seen last.
  std::string trouble;           ///< Why it is missing; empty when it is there.
  uint32_t shards = 0;           ///< Complete copies of shards that it has.
  uint32_t packs = 0;            ///< Packs that it has and that can be read.
  uint64_t bytes = 0;            ///< Of both.

  [[nodiscard]] bool present() const { return trouble.empty(); }
};

/// Where to look for the files of a model.
struct ModelPlaces {
  std::filesystem::path folder;                ///< Has config.json.
  std::vector<std::filesystem::path> volumes;  ///< More folders, named by the user.
};

/// Finds the volumes of a model: its own folder first, then the others that the user names, then
/// those of the manifest, each where it is named, else where it was seen last. A volume that is not
/// found is in the result as missing. Throws Error that names the folder and the remedy when one
/// that the user names does not exist or is a volume of another model, or two are the same volume.
[[nodiscard]] std::vector<Volume> find_volumes(const ModelPlaces& places,
                                               const std::optional<Manifest>& manifest);

/// A volume in words, for messages: label, id and folder.
[[nodiscard]] std::string describe(const Volume& volume);

}  // namespace sluice::format
