#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "format/manifest.h"
#include "format/volumes.h"
#include "io/drive_list.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The path, and where it is a model the volumes of that.
std::vector<fs::path> places_of(const std::vector<std::string>& paths) {
  std::vector<fs::path> places;
  for (const std::string& path : paths) {
    places.emplace_back(path);
    std::error_code error;
    const auto manifest =
        fs::is_directory(path, error) ? format::read_manifest(path) : std::nullopt;
    if (!manifest) continue;
    for (const format::Volume& volume : format::find_volumes({path, {}}, manifest)) {
      if (volume.present() && volume.id) places.push_back(volume.folder);
    }
  }
  return places;
}

/// "a, b", of paths or names.
template <class Texts>
std::string joined(const Texts& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + fs::path(text).string();
  return out;
}

std::string name_of(const io::ListedDrive& drive) {
  return drive.device ? drive.device->name : drive.mount.source;
}

std::string direct_text(const io::ListedDrive& drive) {
  if (!drive.trouble.empty()) return "-";
  if (!drive.direct) return "unknown";
  if (!drive.direct->allowed) return "none";
  if (drive.direct->offset_bytes == 0) return "yes";
  return fmt::format("{} B", std::max(drive.direct->offset_bytes, drive.direct->memory_bytes));
}

std::string model_text(const io::ListedDrive& drive) {
  if (!drive.device) return "-";
  if (!drive.device->model.empty()) return drive.device->model;
  return drive.device->loop_file.empty() ? "-" : drive.device->loop_file.string();
}

std::string bus_text(const io::ListedDrive& drive) {
  std::string text = drive.bus.empty() ? "-" : drive.bus;
  if (!drive.device) return text;
  if (!drive.device->link.empty()) text += ", " + drive.device->link;
  // Virtual devices say so without having any.
  const bool physical = drive.bus == "sata" || drive.bus == "scsi" || drive.bus == "usb";
  if (physical && drive.device->rotational.value_or(false)) text += ", platters";
  return text;
}

std::string mount_text(const io::ListedDrive& drive) {
  return drive.mount.point.string() + (drive.mount.read_only ? " (read-only)" : "");
}

/// What is known of each disk that several of them share, and of disks behind others.
std::string remarks(const std::vector<io::ListedDrive>& drives) {
  std::string out;
  for (const io::ListedDrive& drive : drives) {
    if (drive.paths.size() > 1) {
      out += fmt::format("{} lie on one drive, {}: their rates do not add up.\n",
                         joined(drive.paths), name_of(drive));
    }
    if (!drive.trouble.empty()) {
      out +=
          fmt::format("{}: cannot be examined: {}.\n", drive.mount.point.string(), drive.trouble);
    }
    if (const std::string reason = io::why_no_drive(drive); !reason.empty()) {
      out += fmt::format("{}: {}.\n", drive.mount.point.string(), reason);
    }
  }
  for (const auto& [a, b] : io::sharing(drives)) {
    out += fmt::format("{} and {} share a disk ({}): their rates do not add up.\n",
                       drives[a].mount.point.string(), drives[b].mount.point.string(),
                       joined(drives[a].disks));
  }
  return out;
}

std::string text_of(const std::vector<io::ListedDrive>& drives) {
  TextTable table({"drive", "disks", "model", "bus", "file system", "mounted at", "GB", "free GB",
                   "direct reads"});
  for (const io::ListedDrive& drive : drives) {
    table.add({name_of(drive), drive.disks.empty() ? "-" : joined(drive.disks), model_text(drive),
               bus_text(drive), drive.mount.file_system, mount_text(drive),
               fmt::format("{:.1f}", static_cast<double>(drive.total_bytes) / 1e9),
               fmt::format("{:.1f}", static_cast<double>(drive.free_bytes) / 1e9),
               direct_text(drive)});
  }
  std::string out = table.text();
  const std::string notes = remarks(drives);
  if (!notes.empty()) out += "\n" + notes;
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const io::ListedDrive& drive) {
  Json out = {{"mounted_at", drive.mount.point.string()},
              {"file_system", drive.mount.file_system},
              {"source", drive.mount.source},
              {"read_only", drive.mount.read_only},
              {"bus", text_or_null(drive.bus)},
              {"disks", drive.disks}};
  if (drive.device) {
    const io::BlockDevice& device = *drive.device;
    out["device"] = {{"name", device.name},
                     {"model", text_or_null(device.model)},
                     {"link", text_or_null(device.link)},
                     {"rotational", device.rotational ? Json(*device.rotational) : Json()},
                     {"bytes", device.bytes},
                     {"sector_bytes", device.sector_bytes},
                     {"loop_file", text_or_null(device.loop_file.string())}};
  } else {
    out["device"] = nullptr;
  }
  out["trouble"] = text_or_null(drive.trouble);
  out["total_bytes"] = drive.total_bytes;
  out["free_bytes"] = drive.free_bytes;
  out["direct_reads"] = drive.direct ? Json{{"allowed", drive.direct->allowed},
                                            {"offset_alignment_bytes", drive.direct->offset_bytes},
                                            {"memory_alignment_bytes", drive.direct->memory_bytes}}
                                     : Json();
  out["no_drive_because"] = text_or_null(io::why_no_drive(drive));
  out["paths"] = Json::array();
  for (const fs::path& path : drive.paths) out["paths"].push_back(path.string());
  return out;
}

class DrivesListCommand : public Command {
 public:
  std::string name() const override { return "drives list"; }
  std::string summary() const override { return "Shows what drives there are and what they are"; }
  std::string details() const override {
    return "For each file system in use, or for those that the paths lie on: its device and the "
           "disks behind it, maker's model, bus and link, size, free room, and what reads around "
           "the page cache must be aligned to there. Of a model, its volumes are shown too. Says "
           "which places share a disk, so that their rates do not add up.";
  }
  void declare(OptionList& options) override {
    options.arguments({"PATH", "", "a file, a folder or a model"}, paths_, Completion::kFile, 0);
    options.flag({"json", "", "print one JSON object"}, json_);
  }
  int run() override {
    const std::vector<io::ListedDrive> drives = io::list_drives("/", places_of(paths_));
    write_output(json_ ? json(drives) : text_of(drives));
    return kExitOk;
  }

 private:
  [[nodiscard]] static std::string json(const std::vector<io::ListedDrive>& drives) {
    Json out = {{"drives", Json::array()}, {"sharing_a_disk", Json::array()}};
    for (const io::ListedDrive& drive : drives) out["drives"].push_back(json_of(drive));
    for (const auto& [a, b] : io::sharing(drives)) {
      out["sharing_a_disk"].push_back(
          {drives[a].mount.point.string(), drives[b].mount.point.string()});
    }
    return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  std::vector<std::string> paths_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_drives_list_command() {
  return std::make_unique<DrivesListCommand>();
}

}  // namespace sluice::cli
