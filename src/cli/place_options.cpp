#include "cli/place_options.h"

#include <utility>

namespace sluice::cli {

void declare_place_options(OptionList& options, PlaceSettings& settings) {
  options.group("Model");
  options.argument({"MODEL", "", "folder of a packed model: the one with the manifest"},
                   settings.folder, Completion::kFolder);
  options.strings({"volume", "DIR",
                   "where a volume of the model is now, if not where it was seen last; may be "
                   "given several times"},
                  settings.volumes, Completion::kFolder);
  options.group("Output");
  options.flag({"json", "", "print JSON"}, settings.json);
}

void declare_use_options(OptionList& options, UseSettings& settings) {
  constexpr double kUsesMax = 1000.0;
  options.group("Use");
  options.strings({"routes", "FILE",
                   "a trace of eval --routes, which says how often each expert is used; without, "
                   "all alike; may be given several times"},
                  settings.routes, Completion::kFile);
  options.number({"spine-reads", "N",
                  "how often a token reads each matrix that is no expert: 1 where memory has no "
                  "room for any of them, next to nothing where they stay there"},
                 settings.spine_uses, {0.0, kUsesMax});
}

void declare_drive_options(OptionList& options, std::vector<std::string>& rates, bool& separate,
                           std::string otherwise) {
  options.group("Drives");
  options.strings({"rate", "NAME=MB/s", "reading speed of the drive of a volume"}, rates);
  options.describe_default(std::move(otherwise));
  options.flag({"separate", "",
                "count each volume as a drive of its own, also those on one device: where the "
                "system shows several disks as one"},
               separate);
}

}  // namespace sluice::cli
