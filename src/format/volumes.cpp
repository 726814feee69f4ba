#include "format/volumes.h"

#include "base/error.h"
#include "format/attempt.h"

#include <algorithm>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;

/// Another name of the same folder is found out; a folder that does not exist keeps its name.
fs::path real_path(const fs::path& folder) {
  std::error_code error;
  const fs::path found = fs::canonical(folder, error);
  return error ? folder : found;
}

void check_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  throw Error(ErrorCode::kNotFound,
              "--volume {}: is not a folder; attach the drive, or leave the option out",
              folder.string());
}

const ManifestVolume* find(const Manifest& manifest, VolumeId id) {
  const auto at = std::ranges::find(manifest.volumes, id, &ManifestVolume::id);
  return at == manifest.volumes.end() ? nullptr : &*at;
}

class Finder {
 public:
  Finder(const ModelPlaces& places, const std::optional<Manifest>& manifest)
      : places_(places), manifest_(manifest) {}

  std::vector<Volume> find_all() {
    add_model_folder();
    for (const fs::path& folder : places_.volumes) add_named(folder);
    if (manifest_) {
      for (const ManifestVolume& volume : manifest_->volumes) {
        if (!has(volume.id)) add_remembered(volume);
      }
    }
    return std::move(volumes_);
  }

 private:
  [[nodiscard]] bool has(VolumeId id) const {
    return std::ranges::find(volumes_, std::optional(id), &Volume::id) != volumes_.end();
  }

  /// Of a file that says which volume a folder is.
  [[nodiscard]] Volume make(const fs::path& folder, const VolumeFile& file) const {
    if (manifest_ && file.model != manifest_->model) {
      throw Error(ErrorCode::kInvalidInput,
                  "{}: belongs to model {}, but {} is of model {}; leave this volume out",
                  (folder / kVolumeFileName).string(), to_text(file.model),
                  (places_.folder / kManifestName).string(), to_text(manifest_->model));
    }
    return {.id = file.id, .label = file.label, .folder = folder, .trouble = {}};
  }

  // Its shards count without any file that says so; packs may lie beside them.
  void add_model_folder() {
    Volume volume{.id = {}, .label = {}, .folder = places_.folder, .trouble = {}};
    if (manifest_) {
      const std::optional<VolumeFile> file = read_volume_file(places_.folder);
      if (file && find(*manifest_, file->id) != nullptr) volume = make(places_.folder, *file);
    }
    volumes_.push_back(std::move(volume));
  }

  void add_named(const fs::path& folder) {
    check_folder(folder);
    const auto same = [&](const Volume& v) { return real_path(v.folder) == real_path(folder); };
    if (std::ranges::any_of(volumes_, same)) return;
    const std::optional<VolumeFile> file = read_volume_file(folder);
    if (!file) {
      volumes_.push_back({.id = {}, .label = {}, .folder = folder, .trouble = {}});
      return;
    }
    if (!manifest_) {
      throw Error(ErrorCode::kNotFound,
                  "--volume {}: has packs, but {}, which says what is in them, does not exist; "
                  "name as MODEL the folder that has it",
                  folder.string(), (places_.folder / kManifestName).string());
    }
    Volume volume = make(folder, *file);
    if (find(*manifest_, file->id) == nullptr) {
      throw Error(ErrorCode::kInvalidInput,
                  "--volume {}: is {}, which {} does not name; leave it out, or pack onto it first",
                  folder.string(), describe(volume), (places_.folder / kManifestName).string());
    }
    if (has(file->id)) {
      throw Error(ErrorCode::kInvalidInput,
                  "--volume {}: is {}, and so is another folder that was named; leave one of them "
                  "out",
                  folder.string(), describe(volume));
    }
    volumes_.push_back(std::move(volume));
  }

  void add_remembered(const ManifestVolume& remembered) {
    // A folder that is not absolute is seen from the model's.
    Volume volume{.id = remembered.id,
                  .label = remembered.label,
                  .folder = places_.folder / remembered.folder,
                  .trouble = {}};
    const std::optional<Error> error = attempt([&] {
      const std::optional<VolumeFile> file = read_volume_file(volume.folder);
      if (!file) {
        volume.trouble = fmt::format("there is no {} there", kVolumeFileName);
      } else if (file->id != remembered.id) {
        volume.trouble = fmt::format("another volume is there, {}", to_text(file->id));
      } else {
        volume = make(volume.folder, *file);
      }
    });
    if (error) volume.trouble = error->what();
    volumes_.push_back(std::move(volume));
  }

  const ModelPlaces& places_;
  const std::optional<Manifest>& manifest_;
  std::vector<Volume> volumes_;
};

}  // namespace

std::vector<Volume> find_volumes(const ModelPlaces& places,
                                 const std::optional<Manifest>& manifest) {
  return Finder(places, manifest).find_all();
}

std::string describe(const Volume& volume) {
  if (!volume.id) return volume.folder.string();
  return fmt::format("volume {} ({}), {}{}", volume.label, to_text(*volume.id),
                     volume.present() ? "at " : "last seen at ", volume.folder.string());
}

}  // namespace sluice::format
