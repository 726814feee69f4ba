#include "format/manifest.h"

#include "base/check.h"
#include "base/error.h"
#include "format/damaged.h"
#include "format/file_name.h"
#include "format/member_reader.h"
#include "format/small_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kVersion = 1;
constexpr uint64_t kKnownFeatures = 0;
constexpr uint64_t kFileBytesMax = 64u << 20;
constexpr size_t kLabelBytesMax = 64;
constexpr size_t kShardsMax = UINT16_MAX, kPacksMax = UINT16_MAX, kVolumesMax = 1024;
constexpr std::string_view kManifestMagic = "sluice_manifest", kVolumeMagic = "sluice_volume";
constexpr std::string_view kRemedy = "restore the file from a copy, or pack the checkpoint again";

ManifestShard read_shard(MemberReader& in) {
  ManifestShard shard;
  in.object({{"name", true, [&] { shard.name = in.text(); }},
             {"bytes", true, [&] { shard.bytes = in.number(); }},
             {"sha256", false, [&] { shard.sha256 = in.text(); }},
             {"sha256_origin", false, [&] { shard.sha256_origin = in.text(); }},
             {"optional", false, [&] { in.skip(); }}});
  return shard;
}

ManifestVolume read_volume(MemberReader& in) {
  ManifestVolume volume;
  in.object({{"id", true, [&] { volume.id = in.volume_id(); }},
             {"label", true, [&] { volume.label = in.text(); }},
             {"folder", true, [&] { volume.folder = in.text(); }},
             {"optional", false, [&] { in.skip(); }}});
  return volume;
}

ManifestPack read_pack_entry(MemberReader& in) {
  ManifestPack pack;
  in.object(
      {{"file", true, [&] { pack.file = in.text(); }},
       {"volume", true, [&] { pack.volume = in.volume_id(); }},
       {"shard", true, [&] { pack.shard = {static_cast<uint16_t>(in.number(kShardsMax - 1))}; }},
       {"bytes", true, [&] { pack.bytes = in.number(); }},
       {"index_checksum", true, [&] { pack.index_checksum = in.hexadecimal(); }},
       {"optional", false, [&] { in.skip(); }}});
  return pack;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string trouble_of(const ManifestShard& shard) {
  if (!is_plain_file_name(shard.name)) {
    return fmt::format("name '{}' is not a plain file name", shard.name);
  }
  if (!shard.sha256.empty() && !is_sha256(shard.sha256)) {
    return "sha256 is not 64 lower-case hexadecimal digits";
  }
  if (shard.sha256.empty() != shard.sha256_origin.empty()) {
    return "sha256_origin does not go with sha256: both are known, or neither";
  }
  return {};
}

std::string shards_trouble(const Manifest& manifest) {
  if (manifest.shards.size() > kShardsMax) return "shards has too many entries";
  std::set<std::string_view> names;
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    std::string trouble = trouble_of(manifest.shards[i]);
    if (trouble.empty() && !names.insert(manifest.shards[i].name).second) {
      trouble = "name stands there twice";
    }
    if (!trouble.empty()) return fmt::format("shards[{}].{}", i, trouble);
  }
  return {};
}

std::string volumes_trouble(const Manifest& manifest) {
  if (manifest.volumes.size() > kVolumesMax) return "volumes has too many entries";
  std::set<VolumeId> ids;
  std::set<std::string_view> labels;
  for (size_t i = 0; i < manifest.volumes.size(); ++i) {
    const ManifestVolume& volume = manifest.volumes[i];
    if (!is_volume_label(volume.label)) {
      return fmt::format("volumes[{}].label '{}' cannot be one", i, volume.label);
    }
    if (!ids.insert(volume.id).second) return fmt::format("volumes[{}].id stands there twice", i);
    if (!labels.insert(volume.label).second) {
      return fmt::format("volumes[{}].label stands there twice", i);
    }
  }
  return {};
}

std::string packs_trouble(const Manifest& manifest) {
  if (manifest.packs.size() > kPacksMax) return "packs has too many entries";
  std::set<VolumeId> volumes;
  for (const ManifestVolume& volume : manifest.volumes) volumes.insert(volume.id);
  std::set<std::pair<VolumeId, std::string_view>> files;
  std::set<std::pair<VolumeId, ShardId>> shards;
  for (size_t i = 0; i < manifest.packs.size(); ++i) {
    const ManifestPack& pack = manifest.packs[i];
    const auto wrong = [&](std::string_view why) { return fmt::format("packs[{}].{}", i, why); };
    if (!is_plain_file_name(pack.file)) return wrong("file is not a plain file name");
    if (!volumes.contains(pack.volume)) return wrong("volume is not the id of one of volumes");
    if (pack.shard.value >= manifest.shards.size()) return wrong("shard is not below their number");
    if (!files.emplace(pack.volume, pack.file).second) return wrong("file stands there twice");
    if (!shards.emplace(pack.volume, pack.shard).second) {
      return wrong("shard has another pack on this volume");
    }
  }
  return {};
}

// A folder's name may be anything, also what is no UTF-8.
std::string to_json(const nlohmann::ordered_json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

bool is_volume_label(std::string_view text) {
  return !text.empty() && text.size() <= kLabelBytesMax && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' ||
           std::string_view("=:/\\\x7f").find(c) != std::string_view::npos;
  });
}

std::string trouble_of(const Manifest& manifest) {
  std::string trouble = shards_trouble(manifest);
  if (trouble.empty()) trouble = volumes_trouble(manifest);
  if (trouble.empty()) trouble = packs_trouble(manifest);
  return trouble;
}

Manifest parse_manifest(std::string_view json, const std::string& path) {
  MemberReader in(json, path, kRemedy);
  Manifest manifest;
  in.object({{kManifestMagic, true, [&] { in.version(kVersion); }},
             {"required_features", true, [&] { in.required_features(kKnownFeatures); }},
             {"model", true, [&] { manifest.model = {in.hexadecimal()}; }},
             {"shards", true,
              [&] { in.array(kShardsMax, [&] { manifest.shards.push_back(read_shard(in)); }); }},
             {"volumes", true,
              [&] { in.array(kVolumesMax, [&] { manifest.volumes.push_back(read_volume(in)); }); }},
             {"packs", true,
              [&] { in.array(kPacksMax, [&] { manifest.packs.push_back(read_pack_entry(in)); }); }},
             {"conversion", false, [&] { manifest.conversion = in.text(); }},
             {"optional", false, [&] { in.skip(); }}});
  in.finish();
  if (const std::string trouble = trouble_of(manifest); !trouble.empty()) {
    refuse_damaged(path, trouble, kRemedy);
  }
  return manifest;
}

VolumeFile parse_volume_file(std::string_view json, const std::string& path) {
  MemberReader in(json, path, kRemedy);
  VolumeFile volume;
  in.object({{kVolumeMagic, true, [&] { in.version(kVersion); }},
             {"required_features", true, [&] { in.required_features(kKnownFeatures); }},
             {"id", true, [&] { volume.id = in.volume_id(); }},
             {"model", true, [&] { volume.model = {in.hexadecimal()}; }},
             {"label", true, [&] { volume.label = in.text(); }},
             {"optional", false, [&] { in.skip(); }}});
  in.finish();
  if (!is_volume_label(volume.label)) {
    refuse_damaged(path, fmt::format("label '{}' cannot be one", volume.label), kRemedy);
  }
  return volume;
}

std::string encode_manifest(const Manifest& manifest) {
  SLUICE_CHECK(trouble_of(manifest).empty());
  nlohmann::ordered_json json{
      {kManifestMagic, kVersion}, {"required_features", 0}, {"model", to_text(manifest.model)}};
  json["shards"] = json["volumes"] = json["packs"] = nlohmann::ordered_json::array();
  for (const ManifestShard& shard : manifest.shards) {
    nlohmann::ordered_json& entry = json["shards"].emplace_back();
    entry = {{"name", shard.name}, {"bytes", shard.bytes}};
    if (shard.sha256.empty()) continue;
    entry["sha256"] = shard.sha256;
    entry["sha256_origin"] = shard.sha256_origin;
  }
  for (const ManifestVolume& volume : manifest.volumes) {
    json["volumes"].push_back(
        {{"id", to_text(volume.id)}, {"label", volume.label}, {"folder", volume.folder}});
  }
  for (const ManifestPack& pack : manifest.packs) {
    json["packs"].push_back({{"file", pack.file},
                             {"volume", to_text(pack.volume)},
                             {"shard", pack.shard.value},
                             {"bytes", pack.bytes},
                             {"index_checksum", to_text(ModelId{pack.index_checksum})}});
  }
  if (!manifest.conversion.empty()) json["conversion"] = manifest.conversion;
  return to_json(json);
}

std::string encode_volume_file(const VolumeFile& volume) {
  SLUICE_CHECK(is_volume_label(volume.label));
  return to_json({{kVolumeMagic, kVersion},
                  {"required_features", 0},
                  {"id", to_text(volume.id)},
                  {"model", to_text(volume.model)},
                  {"label", volume.label}});
}

std::optional<Manifest> read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifestName;
  const std::optional<std::string> text = read_if_there(path, kFileBytesMax);
  if (!text) return std::nullopt;
  return parse_manifest(*text, path.string());
}

std::optional<VolumeFile> read_volume_file(const fs::path& folder) {
  const fs::path path = folder / kVolumeFileName;
  const std::optional<std::string> text = read_if_there(path, kFileBytesMax);
  if (!text) return std::nullopt;
  return parse_volume_file(*text, path.string());
}

void write_manifest(const fs::path& folder, const Manifest& manifest) {
  replace_file(folder / kManifestName, encode_manifest(manifest));
}

void write_volume_file(const fs::path& folder, const VolumeFile& volume) {
  replace_file(folder / kVolumeFileName, encode_volume_file(volume));
}

}  // namespace sluice::format
