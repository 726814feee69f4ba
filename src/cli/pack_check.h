#pragma once
#include <string>
#include <vector>

namespace sluice::cli {

/// The options of `sluice pack --verify` and `--restore`.
struct PackedModel {
  std::string folder;
  std::vector<std::string> volumes;
  bool json = false, quiet = false;
};

/// Reads everything that is packed, and prints what is damaged or missing. Returns the exit code.
[[nodiscard]] int verify_packs(const PackedModel& model);
/// Writes the released shards into the folder `to`. Returns the exit code; throws Error.
[[nodiscard]] int restore_shards(const PackedModel& model, const std::string& to);

}  // namespace sluice::cli
