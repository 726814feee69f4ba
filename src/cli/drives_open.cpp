#include "cli/drives_open.h"

#include "base/error.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/size_text.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

/// One file. Shows how far it is written, where it is a new one.
void add_file(const std::string& path, const DriveSources& sources,
              std::deque<io::BenchFile>& files) {
  std::atomic<uint64_t> written{0};
  const Progress progress({.text =
                               [&] {
                                 return fmt::format("{}: {:.1f} GB written", path,
                                                    static_cast<double>(written.load()) / 1e9);
                               },
                           .share =
                               [&] {
                                 return static_cast<double>(written.load()) /
                                        static_cast<double>(sources.file_bytes);
                               }},
                          sources.quiet || !std::filesystem::is_directory(path));
  files.emplace_back(path, io::BenchFileOptions{.bytes = sources.file_bytes,
                                                .drop_cache = sources.drop_cache,
                                                .on_written = [&](uint64_t b) { written = b; }});
}

}  // namespace

io::ReadLoad OpenDrive::load(const io::ReadSetting& setting, std::span<std::byte> memory) const {
  return {.name = result.name,
          .files = files,
          .setting = setting,
          .memory = memory.first(setting.window())};
}

DriveSet::DriveSet(const DriveSources& sources) {
  write_and_check(sources);
  if (!sound_.empty()) open(sources.io);
}

void DriveSet::refuse(const io::BenchFile& file, std::string reason) {
  const std::string path = file.path().string();
  refused_.push_back({.name = path, .paths = {path}, .refused = std::move(reason)});
}

void DriveSet::write_and_check(const DriveSources& sources) {
  for (const std::string& path : sources.paths) {
    add_file(path, sources, files_);
    const io::BenchFile& file = files_.back();
    if (!file.trouble().empty()) {
      refuse(file, file.trouble());
    } else if (file.bytes() < sources.read_bytes_max) {
      throw Error(ErrorCode::kInvalidInput,
                  "{}: {} are shorter than a read of {}; give a longer file, a folder with more "
                  "room, or smaller reads",
                  path, read_size_text(file.bytes()), read_size_text(sources.read_bytes_max));
    } else {
      sound_.push_back(files_.size() - 1);
    }
  }
}

void DriveSet::open(const std::string& io) {
  std::vector<std::string> paths;
  for (const size_t f : sound_) paths.push_back(files_[f].open_path());
  opened_ = io::open_drives(paths, {.method = read_method(io)});
  drives_.resize(array().drive_count());
  for (uint16_t id = 0; id < sound_.size(); ++id) {
    const io::BenchFile& file = files_[sound_[id]];
    OpenDrive& drive = drives_[array().drive({id}).value];
    drive.files.push_back({{id}, file.bytes()});
    drive.sources.push_back(sound_[id]);
    drive.result.paths.push_back(file.path().string());
    drive.result.name = fmt::format("{}", fmt::join(drive.result.paths, ", "));
    drive.result.file_bytes += file.bytes();
    drive.result.write_bytes_per_second =
        std::max(drive.result.write_bytes_per_second, file.write_bytes_per_second());
  }
}

io::ReadLoad DriveSet::load(size_t file, const io::ReadSetting& setting,
                            std::span<std::byte> memory) const {
  const io::BenchFile& source = files_[sound_[file]];
  return {.name = source.path().string(),
          .files = {{{static_cast<uint16_t>(file)}, source.bytes()}},
          .setting = setting,
          .memory = memory.first(setting.window())};
}

void DriveSet::demand_all() const {
  const auto demand = [](const MeasuredDrive& drive) {
    if (drive.refused.empty()) return;
    throw Error(ErrorCode::kUnsupported, "{}: {}", drive.name, drive.refused);
  };
  for (const MeasuredDrive& drive : refused_) demand(drive);
  for (const OpenDrive& drive : drives_) demand(drive.result);
}

void DriveSet::check_after(uint64_t bytes_read) {
  for (OpenDrive& drive : drives_) {
    for (size_t f = 0; f < drive.files.size() && drive.result.refused.empty(); ++f) {
      drive.result.refused = array().direct(drive.files[f].id)
                                 ? files_[drive.sources[f]].trouble_after(bytes_read)
                                 : "its file system refused reads around the page cache";
    }
  }
}

}  // namespace sluice::cli
