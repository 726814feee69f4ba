#include "format/placement_file.h"

#include "base/check.h"
#include "format/damaged.h"
#include "format/manifest.h"
#include "format/member_reader.h"
#include "format/small_file.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr uint64_t kVersion = 1;
constexpr uint64_t kKnownFeatures = 0;
constexpr uint64_t kFileBytesMax = 64u << 20;
constexpr size_t kShardsMax = UINT16_MAX;
constexpr uint64_t kPiecesMax = 1u << 24;  // Of a shard.
constexpr std::string_view kMagic = "sluice_placement";
constexpr std::string_view kRemedy =
    "delete the file and make a new plan with sluice place plan; the packs themselves are not "
    "touched by that";
constexpr std::array<std::string_view, 4> kStates = {"planned", "applying", "applied", "undoing"};
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kPiecesPerDigit = 4;

/// Which pieces a volume holds: digit i has pieces 4i to 4i+3, the first in its lowest bit. Empty
/// when it holds none.
std::string encode_held(const std::vector<VolumeSet>& holders, size_t volume) {
  std::string text((holders.size() + kPiecesPerDigit - 1) / kPiecesPerDigit, '0');
  bool any = false;
  for (size_t digit = 0; digit < text.size(); ++digit) {
    size_t bits = 0;
    const size_t end = std::min(holders.size(), (digit + 1) * kPiecesPerDigit);
    for (size_t p = digit * kPiecesPerDigit; p < end; ++p) {
      bits |= size_t{holders[p] >> volume & 1} << p % kPiecesPerDigit;
    }
    text[digit] = kDigits[bits];
    any = any || bits != 0;
  }
  return any ? text : std::string();
}

/// Adds a volume to those that hold pieces. Empty, or what is wrong with the text.
std::string add_held(std::string_view text, size_t volume, std::vector<VolumeSet>& holders) {
  if (text.empty()) return {};
  if (text.size() != (holders.size() + kPiecesPerDigit - 1) / kPiecesPerDigit) {
    return "has another number of digits than its pieces need";
  }
  for (size_t digit = 0; digit < text.size(); ++digit) {
    const size_t bits = kDigits.find(text[digit]);
    if (bits == std::string_view::npos) return "is not of lower-case hexadecimal digits";
    for (size_t i = 0; i < kPiecesPerDigit; ++i) {
      const size_t piece = digit * kPiecesPerDigit + i;
      if ((bits >> i & 1) == 0) continue;
      if (piece >= holders.size()) return "names a piece that the shard does not have";
      holders[piece] |= VolumeSet{1} << volume;
    }
  }
  return {};
}

class Parser {
 public:
  Parser(std::string_view json, const std::string& path)
      : path_(path), in_(json, path, kRemedy), pieces_left_(2 * kPiecesPerDigit * json.size()) {}

  PlacementFile parse() {
    in_.object({{kMagic, true, [&] { in_.version(kVersion); }},
                {"required_features", true, [&] { in_.required_features(kKnownFeatures); }},
                {"model", true, [&] { file_.model = {in_.hexadecimal()}; }},
                {"state", true, [&] { file_.state = read_state(); }},
                {"request", true, [&] { file_.request = in_.text(); }},
                {"volumes", true, [&] { in_.array(kPlacedVolumesMax, [&] { read_volume(); }); }},
                {"before", true, [&] { read_layout("before", file_.before); }},
                {"after", true, [&] { read_layout("after", file_.after); }},
                {"optional", false, [&] { in_.skip(); }}});
    in_.finish();
    if (const std::string trouble = trouble_of(file_); !trouble.empty()) {
      refuse_damaged(path_, trouble, kRemedy);
    }
    return std::move(file_);
  }

 private:
  PlacementState read_state() {
    const std::string name = in_.text();
    const auto* const found = std::ranges::find(kStates, name);
    if (found == kStates.end()) {
      refuse_damaged(path_, fmt::format("state '{}' is not known to this program", name), kRemedy);
    }
    return static_cast<PlacementState>(found - kStates.begin());
  }

  void read_volume() {
    PlacedVolume& volume = file_.volumes.emplace_back();
    const auto drive = [&] { return static_cast<uint32_t>(in_.number(kPlacedVolumesMax - 1)); };
    in_.object({{"id", true, [&] { volume.id = in_.volume_id(); }},
                {"label", true, [&] { volume.label = in_.text(); }},
                {"folder", true, [&] { volume.folder = in_.text(); }},
                {"drive", true, [&] { volume.drive = drive(); }},
                {"bytes_per_second", true, [&] { volume.bytes_per_second = in_.number(); }},
                {"optional", false, [&] { in_.skip(); }}});
  }

  void read_layout(std::string_view name, PlacedLayout& layout) {
    const auto survives = [&] { return static_cast<uint32_t>(in_.number(kPlacedVolumesMax)); };
    in_.object({{"bytes_per_second", true, [&] { layout.bytes_per_second = in_.number(); }},
                {"survives", true, [&] { layout.survives = survives(); }},
                {"shards", true, [&] { in_.array(kShardsMax, [&] { read_shard(name, layout); }); }},
                {"optional", false, [&] { in_.skip(); }}});
  }

  void read_shard(std::string_view name, PlacedLayout& layout) {
    const size_t shard = layout.holders.size();
    std::vector<VolumeSet>& holders = layout.holders.emplace_back();
    size_t volume = 0;
    const auto read_held = [&] {
      const std::string trouble = add_held(in_.text(), volume, holders);
      if (!trouble.empty()) {
        const std::string at = fmt::format("{}.shards[{}].held[{}]", name, shard, volume);
        refuse_damaged(path_, fmt::format("{} {}", at, trouble), kRemedy);
      }
      ++volume;
    };
    // The number stands first, so that it is known when the digits come.
    const auto read_count = [&] {
      holders.resize(in_.number(std::min(kPiecesMax, pieces_left_)));
      pieces_left_ -= holders.size();
    };
    in_.object({{"pieces", true, read_count},
                {"held", true, [&] { in_.array(kPlacedVolumesMax, read_held); }}});
  }

  const std::string& path_;
  MemberReader in_;
  uint64_t pieces_left_;  // More would have digits somewhere, each in one of the two layouts.
  PlacementFile file_;
};

std::string volumes_trouble(const std::vector<PlacedVolume>& volumes) {
  if (volumes.size() > kPlacedVolumesMax) return "volumes has too many entries";
  std::set<VolumeId> ids;
  std::set<std::string_view> labels;
  for (size_t v = 0; v < volumes.size(); ++v) {
    const auto wrong = [&](std::string_view why) { return fmt::format("volumes[{}].{}", v, why); };
    if (!is_volume_label(volumes[v].label)) return wrong("label cannot be one");
    if (!ids.insert(volumes[v].id).second) return wrong("id stands there twice");
    if (!labels.insert(volumes[v].label).second) return wrong("label stands there twice");
    if (volumes[v].drive >= kPlacedVolumesMax) return wrong("drive is too large");
  }
  return {};
}

Json layout_json(const PlacedLayout& layout, size_t volumes) {
  Json out = {{"bytes_per_second", layout.bytes_per_second},
              {"survives", layout.survives},
              {"shards", Json::array()}};
  for (const std::vector<VolumeSet>& holders : layout.holders) {
    Json held = Json::array();
    for (size_t v = 0; v < volumes; ++v) held.push_back(encode_held(holders, v));
    out["shards"].push_back({{"pieces", holders.size()}, {"held", std::move(held)}});
  }
  return out;
}

}  // namespace

std::string trouble_of(const PlacementFile& placement) {
  std::string trouble = volumes_trouble(placement.volumes);
  if (!trouble.empty()) return trouble;
  if (placement.before.holders.size() != placement.after.holders.size()) {
    return "before and after have different numbers of shards";
  }
  const VolumeSet known = static_cast<VolumeSet>((uint64_t{1} << placement.volumes.size()) - 1);
  for (size_t s = 0; s < placement.after.holders.size(); ++s) {
    const std::vector<VolumeSet>& before = placement.before.holders[s];
    const std::vector<VolumeSet>& after = placement.after.holders[s];
    const auto wrong = [&](std::string_view why) { return fmt::format("shards[{}] {}", s, why); };
    if (before.size() != after.size()) return wrong("has other pieces before than after");
    const auto unknown = [&](VolumeSet set) { return (set & ~known) != 0; };
    if (std::ranges::any_of(before, unknown) || std::ranges::any_of(after, unknown)) {
      return wrong("has a holder that is not one of volumes");
    }
    if (std::ranges::count(after, VolumeSet{0}) > 0) {
      return wrong("has a piece that nobody would hold after it");
    }
  }
  return {};
}

PlacementFile parse_placement_file(std::string_view json, const std::string& path) {
  return Parser(json, path).parse();
}

std::string encode_placement_file(const PlacementFile& placement) {
  SLUICE_CHECK(trouble_of(placement).empty());
  Json json = {{kMagic, kVersion},
               {"required_features", 0},
               {"model", to_text(placement.model)},
               {"state", kStates[static_cast<size_t>(placement.state)]},
               {"request", placement.request},
               {"volumes", Json::array()}};
  for (const PlacedVolume& volume : placement.volumes) {
    json["volumes"].push_back({{"id", to_text(volume.id)},
                               {"label", volume.label},
                               {"folder", volume.folder},
                               {"drive", volume.drive},
                               {"bytes_per_second", volume.bytes_per_second}});
  }
  json["before"] = layout_json(placement.before, placement.volumes.size());
  json["after"] = layout_json(placement.after, placement.volumes.size());
  // A folder's name may be anything, also what is no UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<PlacementFile> read_placement_file(const fs::path& folder) {
  const fs::path path = folder / kPlacementFileName;
  const std::optional<std::string> text = read_if_there(path, kFileBytesMax);
  if (!text) return std::nullopt;
  return parse_placement_file(*text, path.string());
}

void write_placement_file(const fs::path& folder, const PlacementFile& placement) {
  replace_file(folder / kPlacementFileName, encode_placement_file(placement));
}

}  // namespace sluice::format
