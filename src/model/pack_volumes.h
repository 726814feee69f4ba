#pragma once
#include "format/manifest.h"
#include "io/folder_lock.h"
#include "io/folder_probe.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::model {

/// A folder that shall get packs, as the user names it.
struct PackTarget {
  std::string label;
  std::filesystem::path folder;
  uint64_t limit_bytes = UINT64_MAX;  ///< That all packs of the volume may take.
  std::optional<double> rate{};       ///< Bytes per second; measured when absent.
};

/// A volume that is about to be packed onto.
struct PackVolume {
  format::VolumeFile file;            ///< What its folder says, or will.
  bool fresh = true;                  ///< The folder does not say it yet.
  std::filesystem::path folder;       ///< Absolute.
  double rate = 0.0;                  ///< Bytes per second.
  io::FolderFacts disk;               ///< What is free counts what killed runs left there.
  uint64_t limit_bytes = UINT64_MAX;  ///< That all packs may take.
  uint64_t held_bytes = 0;            ///< That its packs take now.

  /// For more packs, by the limit alone.
  [[nodiscard]] uint64_t room_bytes() const {
    return limit_bytes - std::min(limit_bytes, held_bytes);
  }
};

/// Opens the folders: checks that they exist, can be written, lie apart, and are volumes of this
/// model or of none, and measures their rates. Writes nothing that stays. Throws Error that names
/// the option, the folder and the remedy.
[[nodiscard]] std::vector<PackVolume> open_pack_volumes(std::span<const PackTarget> targets,
                                                        const format::Manifest& manifest);

/// Those of the files of a volume that hold nothing: of packs that a killed run left unfinished, or
/// finished without the manifest learning of it, or that others have taken the place of.
[[nodiscard]] std::vector<std::filesystem::path> leftovers(const std::filesystem::path& folder,
                                                           format::VolumeId volume,
                                                           const format::Manifest& manifest);

/// What a file takes of its disk: holes are no part of it. 0 when it does not exist.
[[nodiscard]] uint64_t allocated_bytes(const std::filesystem::path& path);

/// Locks each folder once, whatever it is called.
[[nodiscard]] std::vector<io::FolderLock> lock_folders(std::vector<std::filesystem::path> folders);

}  // namespace sluice::model
