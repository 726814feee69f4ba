#include "cli/bench_run.h"

#include "base/error.h"
#include "format/attempt.h"
#include "io/drive_list.h"
#include "stream/memory_plan.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

/// What is known before anything is reserved. Throws Error when the arm cannot run.
model::Inspection plan_arm(const BenchArm& arm, const model::LoadOptions& options) {
  model::Inspection inspection = model::inspect_model(arm.settings.folder, options);
  if (!inspection.plan.fits) {
    throw Error(ErrorCode::kOutOfMemory,
                "{}: the memory does not suffice; the smallest budget that works is {} (--memory "
                "{})\n{}",
                arm.settings.folder, stream::human_bytes(inspection.plan.minimum_bytes),
                inspection.plan.minimum_bytes, inspection.memory_table);
  }
  return inspection;
}

/// " (vda, virtio, ext4)": what a file lies on, as far as the system tells.
std::string device_text(const std::string& file) {
  std::vector<io::ListedDrive> drives;
  const auto error = format::attempt([&] { drives = io::list_drives("/", {file}); });
  if (error || drives.empty()) return " (device unknown)";
  const io::ListedDrive& drive = drives.front();
  std::string text;
  for (const std::string& part :
       {drive.device ? drive.device->name : "", drive.device ? drive.device->model : "", drive.bus,
        drive.mount.file_system}) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return " (" + text + ")";
}

std::vector<std::string> files_of(const io::DriveArray& drives) {
  std::vector<std::string> files;
  for (uint16_t f = 0; f < drives.file_count(); ++f) files.push_back(drives.path({f}));
  return files;
}

}  // namespace

BenchRun::BenchRun(std::vector<BenchArm> arms, const BenchPromptSettings& prompt,
                   BenchReport& report, const std::atomic<bool>& cancel)
    : arms_(std::move(arms)),
      report_(report),
      points_(engine::bench_points(report.settings)),
      input_{
          .text = {}, .cancel = cancel, .on_rows = [this](uint32_t rows) { rows_done_ += rows; }} {
  for (const BenchArm& arm : arms_) {
    in_arm(arm, [&] {
      const model::Inspection inspection = plan_arm(arm, loading(arm));
      if (!text_.empty()) return;
      BenchPrompt chosen = bench_prompt(prompt, arm.settings.folder, inspection.shape.vocab);
      report_.prompt = std::move(chosen.source);
      text_ = std::move(chosen.tokens);
    });
    ArmReport about{.name = arm.name, .flags = arm.flags};
    about.turns.resize(points_.size());
    report_.arms.push_back(std::move(about));
  }
  input_.text = text_;
}

void BenchRun::run() {
  for (uint32_t turn = 0; turn < report_.turns; ++turn) {
    for (const size_t arm : engine::arm_order(arms_.size(), turn)) {
      bool finished = false;
      in_arm(arms_[arm], [&] { finished = run_turn(arm, turn); });
      if (!finished) return;
    }
  }
  report_.finished = true;
}

bool BenchRun::run_turn(size_t arm, uint32_t turn) {
  const engine::BenchSettings& settings = report_.settings;
  ArmReport& about = report_.arms[arm];
  begin(arm, turn, "ceilings");
  BenchCeilings ceilings;
  raise_memory_ceiling(ceilings);
  std::vector<std::string> files;
  std::optional<model::LoadedModel> loaded;
  std::optional<engine::BenchRunner> runner;
  bool peak_known = false;
  for (size_t p = 0; p < points_.size(); ++p) {
    if (!loaded || settings.cold) {
      runner.reset();
      loaded.reset();
      begin(arm, turn, "opening the model");
      loaded.emplace(arms_[arm].settings.folder, loading(arms_[arm]));
      if (p == 0) {
        describe_arm(about, *loaded);
        files = files_of(loaded->drives());
        raise_drive_ceiling(files, ceilings);
        peak_known = engine::restart_peak_rss();
      }
      runner.emplace(*loaded, input_);
      begin(arm, turn, "warm-up");
      if (!settings.cold && !runner->warm_up(settings)) return false;
    }
    begin(arm, turn, describe(points_[p]));
    std::optional<engine::BenchMeasurement> measured = runner->measure(points_[p]);
    if (!measured) return false;
    compare(turn, p, std::move(measured->answer));
    about.turns[p].push_back({.stats = std::move(measured->stats),
                              .weight_bytes = measured->weight_bytes,
                              .peak_rss_bytes = peak_known ? engine::peak_rss_bytes() : 0,
                              .ceilings = ceilings});
  }
  runner.reset();
  loaded.reset();
  begin(arm, turn, "ceilings");
  raise_memory_ceiling(ceilings);
  raise_drive_ceiling(files, ceilings);
  for (std::vector<BenchTurn>& turns : about.turns) turns.back().ceilings = ceilings;
  return true;
}

model::LoadOptions BenchRun::loading(const BenchArm& arm) const {
  model::LoadOptions options = load_options(arm.settings);
  const uint32_t needed = engine::bench_context(report_.settings);
  if (arm.settings.context != 0 && arm.settings.context < needed) {
    throw Error(ErrorCode::kInvalidInput,
                "--context is {}, but the longest sequence has {} tokens; raise or drop it",
                arm.settings.context, needed);
  }
  if (arm.settings.context == 0) options.context = needed;
  return options;
}

void BenchRun::describe_arm(ArmReport& about, const model::LoadedModel& loaded) {
  if (report_.fingerprint == 0) report_.fingerprint = loaded.fingerprint();
  if (report_.fingerprint != loaded.fingerprint()) {
    throw Error(ErrorCode::kInvalidInput,
                "{} is another model than that of the first arm, so nothing can be compared; give "
                "copies of one",
                loaded.checkpoint().folder().string());
  }
  about.memory_bytes = loaded.plan().total_bytes;
  about.threads = loaded.options().threads;
  about.prefill_rows = loaded.options().prefill_rows;
  about.read_method = loaded.drives().method();
  about.buffered_files = loaded.buffered_files();
  about.drives = loaded.drive_names();
  const io::DriveArray& drives = loaded.drives();
  std::vector<std::string> devices(drives.drive_count());
  for (uint16_t f = 0; f < drives.file_count(); ++f) {
    std::string& device = devices[drives.drive({f}).value];
    if (device.empty()) device = device_text(drives.path({f}));
  }
  for (size_t d = 0; d < devices.size(); ++d) about.drives[d] += devices[d];
}

void BenchRun::compare(uint32_t turn, size_t point, engine::BenchAnswer answer) {
  if (point == expected_.size()) {
    expected_.push_back(std::move(answer));
    return;
  }
  const auto difference = engine::answer_difference(answer, expected_[point]);
  if (!difference) return;
  throw Error(
      ErrorCode::kCorrupt,
      "{} in turn {} differs from turn 1 of arm \"{}\": {}. The speed of another answer "
      "says nothing. --backend and --mla-norm-eps change answers and must be the same for "
      "all arms; any other difference is an error of the program or of the machine's memory",
      describe(points_[point]), turn + 1, arms_[0].name, *difference);
}

void BenchRun::begin(size_t arm, uint32_t turn, const std::string& what) {
  const std::lock_guard lock(mutex_);
  doing_ = fmt::format("turn {} of {}, arm {}: {}", turn + 1, report_.turns, arms_[arm].name, what);
}

std::string BenchRun::progress_text() const {
  const std::lock_guard lock(mutex_);
  return doing_;
}

double BenchRun::progress_share() const {
  const double all = static_cast<double>(engine::rows_of_turn(report_.settings)) *
                     static_cast<double>(arms_.size()) * report_.turns;
  return static_cast<double>(rows_done_) / all;
}

}  // namespace sluice::cli
