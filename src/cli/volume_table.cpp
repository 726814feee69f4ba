#include "cli/volume_table.h"

#include "stream/memory_plan.h"

#include <filesystem>
#include <sys/stat.h>
#if __has_include(<sys/sysmacros.h>)
#include <sys/sysmacros.h>
#endif

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

/// The name of the device that a folder lies on where the system tells it, else its number.
std::string device_of(const std::filesystem::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return "-";
  const std::string number = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  std::error_code error;
  const std::filesystem::path link =
      std::filesystem::read_symlink("/sys/dev/block/" + number, error);
  return error ? number : link.filename().string();
}

/// Those that have something, or should.
std::vector<format::Volume> shown(const std::vector<format::Volume>& volumes) {
  std::vector<format::Volume> out;
  for (const format::Volume& v : volumes) {
    if (v.id || v.bytes > 0) out.push_back(v);
  }
  return out;
}

nlohmann::ordered_json json_of(const format::Volume& volume) {
  nlohmann::ordered_json out;
  out["id"] = volume.id ? nlohmann::ordered_json(to_text(*volume.id)) : nullptr;
  out["label"] = volume.label;
  out["folder"] = volume.folder.string();
  out["device"] = volume.present() ? device_of(volume.folder) : "-";
  out["state"] = volume.present() ? "present" : "missing";
  out["shards_in_place"] = volume.shards;
  out["packs"] = volume.packs;
  out["bytes"] = volume.bytes;
  return out;
}

}  // namespace

std::string volume_table(const std::vector<format::Volume>& volumes) {
  std::string out = fmt::format("  {:<16}{:<10}{:>7}{:>7}{:>13}  {:<10}{}\n", "label", "state",
                                "shards", "packs", "bytes", "device", "folder");
  for (const format::Volume& v : shown(volumes)) {
    out += fmt::format("  {:<16}{:<10}{:>7}{:>7}{:>13}  {:<10}{}\n", v.id ? v.label : "(shards)",
                       v.present() ? "present" : "missing", v.shards, v.packs,
                       stream::human_bytes(v.bytes), v.present() ? device_of(v.folder) : "-",
                       v.folder.string());
    if (v.id) out += fmt::format("  {:<16}id {}\n", "", to_text(*v.id));
  }
  return out;
}

std::string volumes_json(const std::vector<format::Volume>& volumes) {
  auto out = nlohmann::ordered_json::array();
  for (const format::Volume& volume : shown(volumes)) out.push_back(json_of(volume));
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sluice::cli
