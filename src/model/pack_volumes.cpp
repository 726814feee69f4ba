#include "model/pack_volumes.h"

#include "base/error.h"
#include "format/pack.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::model {
namespace {

namespace fs = std::filesystem;
using format::Manifest;
using format::ManifestPack;
using format::ManifestVolume;
using format::VolumeFile;

[[noreturn]] void refuse(const PackTarget& target, const std::string& why) {
  throw Error(ErrorCode::kInvalidInput, "--to {}={}: {}", target.label, target.folder.string(),
              why);
}

/// The volume that the folder is, or becomes.
PackVolume identify(const PackTarget& target, const Manifest& manifest) {
  PackVolume volume;
  volume.folder = fs::canonical(target.folder);
  const std::optional<VolumeFile> found = format::read_volume_file(volume.folder);
  volume.fresh = !found;
  volume.file = found.value_or(
      VolumeFile{.id = format::new_volume_id(), .model = manifest.model, .label = target.label});
  if (volume.file.model != manifest.model) {
    refuse(target, fmt::format("has packs of another model ({}, this one is {}); give a folder of "
                               "its own",
                               to_text(volume.file.model), to_text(manifest.model)));
  }
  if (volume.file.label != target.label) {
    refuse(target, fmt::format("is volume {0} of this model; write --to {0}={1}", volume.file.label,
                               target.folder.string()));
  }
  for (const ManifestVolume& known : manifest.volumes) {
    if (known.label != target.label || known.id == volume.file.id) continue;
    refuse(target, fmt::format("the model has another volume of this name, last seen at {}; attach "
                               "that one, or give this one another name",
                               known.folder));
  }
  return volume;
}

void check_writable(const PackTarget& target) {
  if (::access(target.folder.c_str(), W_OK) == 0) return;
  throw Error(ErrorCode::kIo, "--to {}={}: cannot be written: {}; choose another folder",
              target.label, target.folder.string(), std::strerror(errno));
}

uint64_t held_bytes(const Manifest& manifest, const PackVolume& volume) {
  uint64_t bytes = 0;
  for (const ManifestPack& pack : manifest.packs) {
    if (pack.volume == volume.file.id) bytes += allocated_bytes(volume.folder / pack.file);
  }
  return bytes;
}

}  // namespace

std::vector<PackVolume> open_pack_volumes(std::span<const PackTarget> targets,
                                          const Manifest& manifest) {
  std::vector<PackVolume> volumes;
  for (const PackTarget& target : targets) {
    if (!format::is_volume_label(target.label)) refuse(target, "this is no name for a volume");
    io::FolderFacts disk = io::probe_folder(target.folder);
    check_writable(target);
    PackVolume volume = identify(target, manifest);
    for (const PackVolume& other : volumes) {
      if (other.file.label == target.label) refuse(target, "two volumes have this name");
      if (other.folder == volume.folder) refuse(target, "two volumes have this folder");
    }
    if (!volume.fresh) {
      for (const fs::path& file : leftovers(volume.folder, volume.file.id, manifest)) {
        disk.free_bytes += allocated_bytes(file);
      }
    }
    volume.disk = disk;
    volume.rate = target.rate ? *target.rate : io::measure_read_rate(volume.folder);
    volume.limit_bytes = target.limit_bytes;
    volume.held_bytes = held_bytes(manifest, volume);
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

uint64_t allocated_bytes(const fs::path& path) {
  constexpr uint64_t kUnit = 512;  // Of st_blocks, whatever a block of the file system is.
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? uint64_t(status.st_blocks) * kUnit : 0;
}

std::vector<fs::path> leftovers(const fs::path& folder, format::VolumeId volume,
                                const Manifest& manifest) {
  std::vector<fs::path> files;
  std::set<std::string> kept;
  for (const ManifestPack& pack : manifest.packs) {
    if (pack.volume == volume) kept.insert(pack.file);
  }
  const auto is_ours = [&](const std::string& name) {
    return std::ranges::any_of(manifest.shards, [&](const format::ManifestShard& shard) {
      return format::is_pack_of(name, shard.name);
    });
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool orphan = !kept.contains(name) && is_ours(name);
    if (orphan || format::is_unfinished_pack(name)) files.push_back(entry.path());
  }
  return files;
}

std::vector<io::FolderLock> lock_folders(std::vector<fs::path> folders) {
  for (fs::path& folder : folders) folder = fs::canonical(folder);
  std::ranges::sort(folders);
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  std::vector<io::FolderLock> locks;
  for (const fs::path& folder : folders) locks.emplace_back(folder);
  return locks;
}

}  // namespace sluice::model
