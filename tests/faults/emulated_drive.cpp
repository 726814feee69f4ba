#include "emulated_drive.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace sluice::faults {
namespace {

namespace fs = std::filesystem;

std::vector<DriveFile> map_files(const fs::path& folder) {
  std::vector<DriveFile> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const size_t bytes = entry.file_size();
    const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    void* const data =
        bytes == 0 ? nullptr
                   : ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (descriptor < 0 || data == MAP_FAILED) {
      std::perror(entry.path().c_str());
      std::exit(1);
    }
    ::close(descriptor);
    files.push_back({entry.path().filename(), {static_cast<const char*>(data), bytes}});
  }
  return files;
}

}  // namespace

const char* const EmulatedDrive::kCommands =
    "  rate BYTES            a second, of all reads together; 0 (the start): no limit\n"
    "  latency MICROSECONDS  before the bytes of a read begin to come\n"
    "  error FILE FIRST END TIMES   reads that touch these bytes fail (EIO)\n"
    "  short FILE FIRST END TIMES   ... get half of their bytes\n"
    "  empty FILE FIRST END TIMES   ... get none, as at the end of a file\n"
    "  flip FILE FIRST END TIMES    ... get these bytes inverted\n"
    "  clear                 takes back the four above\n"
    "  stall MILLISECONDS    no read is answered for that long\n"
    "  release               ends that time, and what is left of those of the reads that wait\n"
    "  gone, back            all calls fail in between (ENODEV)\n"
    "  after READS COMMAND   when that many more reads have been answered\n"
    "  status                ok, then reads and bytes answered, reads waiting, reads with faults\n";

EmulatedDrive::EmulatedDrive(const fs::path& folder, DriveClient& client)
    : client_(client), files_(map_files(folder)) {}

// Latencies of several reads overlap, their bytes come one after another.
void EmulatedDrive::start(void* request, size_t file, uint64_t offset, uint64_t bytes) {
  const uint64_t size = files_[file].content.size();
  offset = std::min(offset, size);
  bytes = std::min(bytes, size - offset);
  const std::chrono::duration<double> transfer(seconds_per_byte_ * static_cast<double>(bytes));
  free_at_ = std::max(free_at_, Clock::now() + latency_) +
             std::chrono::duration_cast<Clock::duration>(transfer);
  waiting_.push_back({request, file, offset, bytes, free_at_});
}

bool EmulatedDrive::set_fault(const std::string& word, std::istream& rest) {
  static const std::map<std::string, Fault::Kind> kinds = {{"error", Fault::Kind::kError},
                                                           {"short", Fault::Kind::kShort},
                                                           {"empty", Fault::Kind::kEmpty},
                                                           {"flip", Fault::Kind::kFlip}};
  const auto kind = kinds.find(word);
  if (kind == kinds.end()) return false;
  Fault fault{.kind = kind->second, .file = {}};
  if (!(rest >> fault.file >> fault.first >> fault.end >> fault.times)) return false;
  const bool known = std::ranges::find(files_, fault.file, &DriveFile::name) != files_.end();
  if (!known && fault.file != "*") return false;
  faults_.push_back(std::move(fault));
  return true;
}

bool EmulatedDrive::set_state(const std::string& word, std::istream& rest) {
  uint64_t number = 0;
  if (word == "rate" && rest >> number) {
    seconds_per_byte_ = number == 0 ? 0 : 1 / static_cast<double>(number);
  } else if (word == "latency" && rest >> number) {
    latency_ = std::chrono::microseconds(number);
  } else if (word == "stall" && rest >> number) {
    free_at_ = std::max(free_at_, Clock::now() + std::chrono::milliseconds(number));
    for (Read& read : waiting_) read.due = std::max(read.due, free_at_);
  } else if (word == "release") {
    free_at_ = Clock::now();
    for (Read& read : waiting_) read.due = free_at_;
  } else if (word == "gone" || word == "back") {
    gone_ = word == "gone";
    if (gone_) refuse_all();
  } else if (word == "clear") {
    faults_.clear();
  } else {
    return false;
  }
  return true;
}

std::string EmulatedDrive::obey(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word == "status") {
    return "ok " + std::to_string(reads_) + " " + std::to_string(bytes_) + " " +
           std::to_string(waiting_.size()) + " " + std::to_string(faulty_);
  }
  uint64_t reads = 0;
  std::string command;
  if (word == "after" && words >> reads && std::getline(words >> std::ws, command)) {
    later_.emplace(reads_ + reads, command);
    return "ok";
  }
  return set_fault(word, words) || set_state(word, words) ? "ok" : "error: " + line;
}

void EmulatedDrive::obey_later_commands() {
  while (!later_.empty() && later_.begin()->first <= reads_) {
    const std::string answer = obey(later_.extract(later_.begin()).mapped());
    if (answer != "ok") std::fprintf(stderr, "fuse_drive: %s\n", answer.c_str());
  }
}

std::optional<EmulatedDrive::Clock::time_point> EmulatedDrive::next_due() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().due;
}

void EmulatedDrive::answer_due() {
  // A command that comes after a read may change what waits.
  for (std::optional<Clock::time_point> due = next_due(); due && *due <= Clock::now();
       due = next_due()) {
    const Read read = waiting_.front();
    waiting_.pop_front();
    answer(read);
    obey_later_commands();
  }
}

void EmulatedDrive::refuse_all() {
  for (const Read& read : waiting_) client_.refuse(read.request, ENODEV);
  waiting_.clear();
}

void EmulatedDrive::answer(const Read& read) {
  const DriveFile& file = files_[read.file];
  std::span<const char> bytes = file.content.subspan(read.offset, read.bytes);
  std::vector<char> changed;
  ++reads_;
  bytes_ += bytes.size();
  for (Fault& fault : faults_) {
    const uint64_t first = std::max(fault.first, read.offset);
    const uint64_t end = std::min(fault.end, read.offset + read.bytes);
    if (fault.times == 0 || first >= end || (fault.file != "*" && fault.file != file.name))
      continue;
    --fault.times;
    ++faulty_;
    switch (fault.kind) {
      case Fault::Kind::kError:
        client_.refuse(read.request, EIO);
        return;
      case Fault::Kind::kShort:
        bytes = bytes.first((bytes.size() + 1) / 2);
        break;
      case Fault::Kind::kEmpty:
        bytes = {};
        break;
      case Fault::Kind::kFlip:
        if (changed.empty()) changed.assign(bytes.begin(), bytes.end());
        for (uint64_t i = first - read.offset; i < end - read.offset && i < changed.size(); ++i) {
          changed[i] = static_cast<char>(~changed[i]);
        }
        break;
    }
  }
  client_.give(read.request,
               changed.empty() ? bytes : std::span<const char>(changed).first(bytes.size()));
}

}  // namespace sluice::faults
