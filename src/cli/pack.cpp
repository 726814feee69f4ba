#include "base/error.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/pack_check.h"
#include "cli/pack_targets.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/work_report.h"
#include "model/packer.h"
#include "stream/memory_plan.h"

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using model::PackOutlook;
using stream::human_bytes;
using Json = nlohmann::ordered_json;

constexpr double kMegabyte = 1e6;

std::string outlook_text(const PackOutlook& outlook) {
  std::string out =
      fmt::format("{} of {} shards are to be packed, {}\n\n", outlook.shards - outlook.shards_done,
                  outlook.shards, human_bytes(outlook.shard_bytes));
  out += fmt::format("  {:<12} {:>10} {:>12} {:>12} {:>6}  {}\n", "volume", "MB/s", "room", "bytes",
                     "packs", "folder");
  for (const PackOutlook::VolumeLine& v : outlook.volumes) {
    out += fmt::format("  {:<12} {:>10.0f} {:>12} {:>12} {:>6}  {}\n", v.label, v.rate / kMegabyte,
                       human_bytes(v.room_bytes), human_bytes(v.bytes), v.packs, v.folder.string());
  }
  return out;
}

Json outlook_json(const PackOutlook& outlook) {
  Json event = {{"event", "plan"},
                {"shards", outlook.shards},
                {"shards_done", outlook.shards_done},
                {"bytes", outlook.shard_bytes},
                {"reclaimed_bytes", outlook.reclaimed_bytes},
                {"volumes", Json::array()},
                {"warnings", outlook.warnings}};
  for (const PackOutlook::VolumeLine& v : outlook.volumes) {
    event["volumes"].push_back({{"label", v.label},
                                {"folder", v.folder.string()},
                                {"bytes_per_second", v.rate},
                                {"room_bytes", v.room_bytes},
                                {"bytes", v.bytes},
                                {"packs", v.packs}});
  }
  return event;
}

/// Tells how a conversion goes: lines and a progress display for people, or JSON lines.
class PackReport {
 public:
  PackReport(const PackOutlook& outlook, bool json, bool quiet)
      : json_(json),
        quiet_(quiet),
        work_({.what = "packed", .total = outlook.shard_bytes, .json = json, .quiet = quiet}) {}

  model::PackWatch watch() {
    return {.read = [this](uint64_t bytes) { work_.advance(bytes); },
            .packed = [this](const model::PackedShard& shard) { add(shard); },
            .reclaimed =
                [this](const fs::path& path) {
                  if (json_) emit({{"event", "reclaimed"}, {"path", path.string()}});
                  ++reclaimed_;
                }};
  }

  void finish() {
    work_.stop();
    if (json_) {
      emit({{"event", "done"},
            {"shards", shards_},
            {"bytes", work_.done()},
            {"stored_bytes", stored_bytes_},
            {"reclaimed", reclaimed_},
            {"seconds", work_.seconds()}});
    } else if (!quiet_) {
      std::string out = fmt::format("packed {} shards, {}, in {}\n", shards_,
                                    human_bytes(work_.done()), format_duration(work_.seconds()));
      if (stored_bytes_ > 0) {
        out += fmt::format("the packs hold {}; {} shards had a sum to be compared with\n",
                           human_bytes(stored_bytes_), compared_);
      }
      if (reclaimed_ > 0) out += fmt::format("{} shards were deleted\n", reclaimed_);
      write_output(out);
    }
  }

 private:
  void add(const model::PackedShard& shard) {
    ++shards_;
    compared_ += shard.compared ? 1 : 0;
    stored_bytes_ += shard.stored_bytes;
    if (!json_) return;
    emit({{"event", "packed"},
          {"shard", shard.name},
          {"bytes", shard.bytes},
          {"stored_bytes", shard.stored_bytes},
          {"sha256", shard.sha256},
          {"compared", shard.compared},
          {"seconds", work_.seconds()}});
  }

  static void emit(const Json& event) {
    write_output(event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  const bool json_, quiet_;
  uint64_t stored_bytes_ = 0;
  uint32_t shards_ = 0, compared_ = 0, reclaimed_ = 0;
  WorkReport work_;
};

class PackCommand : public Command {
 public:
  std::string name() const override { return "pack"; }
  std::string summary() const override {
    return "Spreads a model over drives, in packs with checksums";
  }
  std::string details() const override {
    return "Every byte of the shards in SRC goes into packs, striped over the volumes in "
           "proportion to their speed and room. A model that is packed is opened by the folder "
           "that "
           "has its manifest. A run that was stopped or killed goes on when it is started again. "
           "With --verify or --restore, SRC is a model that was packed.";
  }
  void declare(OptionList& options) override;
  int run() override;

 private:
  [[nodiscard]] model::PackRequest request() const;
  void read_sums(model::PackRequest& request) const;
  void check_options() const;
  void confirm(const PackOutlook& outlook) const;
  int convert();

  std::string source_, model_, codec_ = "raw", sums_;
  std::vector<std::string> to_, rates_, volumes_;
  uint32_t copies_ = 1;
  bool reclaim_ = false, replan_ = false, dry_run_ = false, yes_ = false;
  bool verify_ = false, restore_ = false, json_ = false, quiet_ = false;
};

void PackCommand::declare(OptionList& options) {
  constexpr uint32_t kCopiesMax = 8;
  options.argument({"SRC", "", "folder of a checkpoint in the released layout"}, source_,
                   Completion::kFolder);
  options.group("Packing");
  options.strings(
      {"to", "NAME=DIR[:BYTES]",
       "a volume: a name of its own, a folder on its own drive, and the most that packs "
       "may take there; may be given several times. For --restore, only a folder"},
      to_, Completion::kFolder);
  options.string({"model", "DIR", "the folder that gets the manifest, config and tokenizer"},
                 model_, Completion::kFolder);
  options.describe_default("SRC");
  options.choice(
      {"codec", "NAME", "how the scales of experts are stored; nothing is lost by either"}, codec_,
      {"raw", "scales"});
  options.number({"copies", "N", "volumes that get each piece"}, copies_, {1, kCopiesMax});
  options.strings({"rate", "NAME=MB/s", "reading speed of a volume, instead of measuring it"},
                  rates_);
  options.string({"sha256", "FILE", "sums that the shards must have, as sha256sum writes them"},
                 sums_, Completion::kFile);
  options.describe_default("SHA256SUMS in SRC, where there is one");
  options.flag({"reclaim", "",
                "delete each shard of SRC once its packs have proved to hold all of "
                "it; asks first"},
               reclaim_);
  options.flag({"yes", "", "do not ask"}, yes_);
  options.flag({"replan", "", "go on with an unfinished conversion that had other options"},
               replan_);
  options.flag({"dry-run", "", "show what would be done and write nothing"}, dry_run_);
  options.group("Packed models");
  options.flag({"verify", "",
                "read all packs of the model SRC, and compare every checksum and "
                "SHA-256"},
               verify_);
  options.flag(
      {"restore", "", "write the released shards of the model SRC into the folder of --to"},
      restore_);
  options.strings({"volume", "DIR",
                   "another folder with packs of the model; may be given several "
                   "times"},
                  volumes_, Completion::kFolder);
  options.group("Output");
  options.flag({"json", "", "print JSON: a line for each event, or one object with --verify"},
               json_);
  options.flag({"quiet", "", "show no progress"}, quiet_);
}

void PackCommand::check_options() const {
  const auto refuse = [](const char* why) { throw Error(ErrorCode::kInvalidInput, why); };
  if (verify_ && restore_) refuse("give one of --verify and --restore");
  if (verify_ && !to_.empty()) refuse("--to means nothing with --verify");
  if (restore_ && to_.size() != 1)
    refuse("--restore needs one --to DIR, the folder for the shards");
  if (!verify_ && !restore_ && to_.empty()) {
    refuse("--to is missing: the volumes, for example --to fast=/mnt/fast");
  }
  if (!verify_ && !restore_ && !volumes_.empty()) {
    refuse("--volume means nothing here: --to names the volumes that are packed onto");
  }
}

int PackCommand::run() {
  check_options();
  const PackedModel packed{.folder = source_, .volumes = volumes_, .json = json_, .quiet = quiet_};
  if (verify_) return verify_packs(packed);
  if (restore_) return restore_shards(packed, to_.front());
  return convert();
}

void PackCommand::read_sums(model::PackRequest& request) const {
  const std::string beside = (fs::path(source_) / "SHA256SUMS").string();
  if (!sums_.empty()) {
    request.sums = format::parse_sha256_sums(read_text("--sha256", sums_), sums_);
    request.sums_origin = sums_;
  } else if (fs::exists(beside)) {
    request.sums = format::parse_sha256_sums(read_text("SRC", beside), beside);
    request.sums_origin = beside;
  }
  request.all_sums = !sums_.empty();
}

model::PackRequest PackCommand::request() const {
  model::PackRequest request{.source = source_,
                             .model = model_.empty() ? source_ : model_,
                             .targets = parse_targets(to_, rates_)};
  request.codec = codec_ == "raw" ? format::Codec::kRaw : format::Codec::kZstd;
  request.copies = copies_;
  request.reclaim = reclaim_;
  request.replan = replan_;
  read_sums(request);
  return request;
}

// Deleting what somebody has downloaded for days must be wanted.
void PackCommand::confirm(const PackOutlook& outlook) const {
  if (outlook.reclaimed.empty() || yes_) return;
  if (!stdin_is_terminal()) {
    throw Error(ErrorCode::kInvalidInput,
                "--reclaim deletes {} shards ({}) and asks before it does; without a terminal, add "
                "--yes",
                outlook.reclaimed.size(), human_bytes(outlook.reclaimed_bytes));
  }
  fmt::print(stderr,
             "{} shards ({}) in {} will be deleted one by one, each after all its bytes were read "
             "back from its packs.\nThe model then needs its volumes. Go on? [y/N] ",
             outlook.reclaimed.size(), human_bytes(outlook.reclaimed_bytes), source_);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "y" && answer != "yes") {
    throw Error(ErrorCode::kCancelled, "stopped; nothing was written");
  }
}

int PackCommand::convert() {
  const model::PackRequest wanted = request();
  model::Packer packer(wanted);
  const PackOutlook& outlook = packer.outlook();
  if (json_) {
    write_output(outlook_json(outlook).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } else if (!quiet_ || dry_run_) {
    write_output(outlook_text(outlook));
  }
  for (const std::string& warning : outlook.warnings) {
    fmt::print(stderr, "warning: {}\n", warning);
  }
  if (dry_run_) return kExitOk;
  confirm(outlook);
  const InterruptGuard interrupt;
  PackReport report(outlook, json_, quiet_);
  packer.run(report.watch(), interrupt.flag());
  report.finish();
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_pack_command() { return std::make_unique<PackCommand>(); }

}  // namespace sluice::cli
