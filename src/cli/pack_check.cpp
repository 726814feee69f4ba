#include "cli/pack_check.h"

#include "base/error.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/volume_table.h"
#include "format/shard_check.h"
#include "format/shard_restore.h"
#include "io/folder_probe.h"
#include "stream/memory_plan.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using format::Manifest;
using format::ManifestShard;
using format::ShardCheck;
using format::Storage;
using stream::human_bytes;

Manifest require_manifest(const std::string& folder) {
  std::optional<Manifest> manifest = format::read_manifest(folder);
  if (manifest) return std::move(*manifest);
  throw Error(ErrorCode::kNotFound,
              "{}: has no {}: it was never packed; name the folder that --model named", folder,
              format::kManifestName);
}

Storage open_storage(const PackedModel& model, const Manifest& manifest) {
  std::vector<std::string> names;
  for (const ManifestShard& shard : manifest.shards) names.push_back(shard.name);
  return Storage(
      {.places = {.folder = model.folder, .volumes = {model.volumes.begin(), model.volumes.end()}},
       .shards = std::move(names),
       .manifest = manifest});
}

/// Shows how far a walk through some shards has come while it lives.
class ShardProgress {
 public:
  ShardProgress(const char* what, uint64_t total, bool quiet)
      : progress_(
            {[this, what, total] {
               return fmt::format("{} {} of {}", what, human_bytes(done_), human_bytes(total));
             },
             [this, total] { return static_cast<double>(done_) / static_cast<double>(total); }},
            quiet) {}
  void advance(uint64_t bytes) { done_ += bytes; }

 private:
  std::atomic<uint64_t> done_{0};
  Progress progress_;
};

uint64_t total_bytes(const Manifest& manifest) {
  uint64_t bytes = 0;
  for (const ManifestShard& shard : manifest.shards) bytes += shard.bytes;
  return bytes;
}

/// What verifying has found.
struct Findings {
  std::vector<std::string> damaged, missing;
  uint64_t shards_good = 0, pieces = 0;

  [[nodiscard]] int exit_code() const {
    if (!damaged.empty()) return kExitCorrupt;
    return missing.empty() ? kExitOk : kExitNotFound;
  }
};

void add(Findings& findings, const ManifestShard& known, ShardCheck check) {
  findings.pieces += check.pieces;
  if (check.good() && !known.sha256.empty() && check.sha256 != known.sha256) {
    check.troubles.push_back(fmt::format("{}: its SHA-256 is {} instead of {} ({})", known.name,
                                         check.sha256, known.sha256, known.sha256_origin));
  }
  if (check.good()) ++findings.shards_good;
  std::ranges::move(check.troubles, std::back_inserter(findings.damaged));
}

Findings look_through(const Storage& storage, const Manifest& manifest, bool quiet) {
  Findings findings;
  // What is left out is a volume that is not there, or a file that is no use.
  std::vector<std::string> away;
  for (const format::Volume& volume : storage.volumes()) {
    if (!volume.present()) away.push_back(describe(volume));
  }
  for (const std::string& note : storage.notes()) {
    const bool missing = std::ranges::any_of(
        away, [&](const std::string& volume) { return note.starts_with(volume); });
    (missing ? findings.missing : findings.damaged).push_back(note);
  }
  ShardProgress progress("verified", total_bytes(manifest), quiet);
  for (uint16_t s = 0; s < manifest.shards.size(); ++s) {
    add(findings, manifest.shards[s],
        check_shard(storage, {s}, format::CheckScope::kAllFiles,
                    [&](uint64_t bytes) { progress.advance(bytes); }));
  }
  return findings;
}

std::string as_json(const Findings& findings, const Storage& storage, const Manifest& manifest) {
  nlohmann::ordered_json report;
  report["shards"] = manifest.shards.size();
  report["shards_good"] = findings.shards_good;
  report["pieces"] = findings.pieces;
  report["damaged"] = findings.damaged;
  report["missing"] = findings.missing;
  report["volumes"] = nlohmann::ordered_json::parse(
      volumes_json({storage.volumes().begin(), storage.volumes().end()}));
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string as_text(const Findings& findings, const Storage& storage, const Manifest& manifest) {
  std::string out = volume_table({storage.volumes().begin(), storage.volumes().end()});
  for (const std::string& line : findings.damaged) out += "damaged  " + line + "\n";
  for (const std::string& line : findings.missing) out += "missing  " + line + "\n";
  return out + fmt::format("{} of {} shards are good; {} pieces were read and checked\n",
                           findings.shards_good, manifest.shards.size(), findings.pieces);
}

}  // namespace

int verify_packs(const PackedModel& model) {
  const Manifest manifest = require_manifest(model.folder);
  const Storage storage = open_storage(model, manifest);
  const Findings findings = look_through(storage, manifest, model.quiet);
  write_output(model.json ? as_json(findings, storage, manifest)
                          : as_text(findings, storage, manifest));
  return findings.exit_code();
}

int restore_shards(const PackedModel& model, const std::string& to) {
  const Manifest manifest = require_manifest(model.folder);
  const Storage storage = open_storage(model, manifest);
  uint64_t bytes = 0;
  std::vector<uint16_t> wanted;
  for (uint16_t s = 0; s < manifest.shards.size(); ++s) {
    if (fs::exists(fs::path(to) / manifest.shards[s].name)) continue;
    wanted.push_back(s);
    bytes += manifest.shards[s].bytes;
  }
  const uint64_t free = io::probe_folder(to).free_bytes;
  if (free < bytes) {
    throw Error(ErrorCode::kIo, "--to {}: {} are needed and {} free: {} are missing; make room", to,
                human_bytes(bytes), human_bytes(free), human_bytes(bytes - free));
  }
  std::string out;
  {
    ShardProgress progress("restored", std::max<uint64_t>(bytes, 1), model.quiet);
    format::StorageReader reader(storage);
    for (const uint16_t s : wanted) {
      const std::string sha256 = format::restore_shard(reader, {s}, manifest.shards[s], to,
                                                       [&](uint64_t n) { progress.advance(n); });
      out += fmt::format("{}  {}\n", sha256, manifest.shards[s].name);
    }
  }
  const size_t kept = manifest.shards.size() - wanted.size();
  if (kept > 0 && !model.quiet) {
    fmt::print(stderr, "note: {} shards stood in {} already and were left alone\n", kept, to);
  }
  write_output(out);  // What sha256sum --check reads.
  return kExitOk;
}

}  // namespace sluice::cli
