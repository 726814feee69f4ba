// A folder as a drive of its own: its files appear read-only under a mount point, come as fast as
// the drive is said to be, and fail as told. One thread waits for the kernel, for commands on
// standard input and for the time when the next read is due.
#define FUSE_USE_VERSION 35
#include "emulated_drive.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fuse_lowlevel.h>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

using sluice::faults::DriveClient;
using sluice::faults::DriveFile;
using sluice::faults::EmulatedDrive;

constexpr const char* kUsage =
    "usage: fuse_drive FOLDER MOUNT_POINT\n"
    "Shows the files that FOLDER has now. Says \"ready\", then answers each line of standard "
    "input\n"
    "with \"ok\" or \"error\"; ends with standard input. FILE is a name or *, TIMES counts "
    "reads.\n";

// What the kernel asks. The root is inode 1, file i is inode i + 2. Nothing is remembered in the
// kernel, so that a drive that is gone is gone.

constexpr fuse_ino_t kFirstFile = 2;

EmulatedDrive& drive_of(fuse_req_t request) {
  return *static_cast<EmulatedDrive*>(fuse_req_userdata(request));
}

struct stat attributes(const EmulatedDrive& drive, fuse_ino_t inode) {
  struct stat status{};
  status.st_ino = inode;
  if (inode == FUSE_ROOT_ID) {
    status.st_mode = S_IFDIR | 0555;
    status.st_nlink = 2;
  } else {
    status.st_mode = S_IFREG | 0444;
    status.st_nlink = 1;
    status.st_size = static_cast<off_t>(drive.files()[inode - kFirstFile].content.size());
  }
  return status;
}

// True when the request has been refused.
bool refused(fuse_req_t request) {
  if (!drive_of(request).gone()) return false;
  fuse_reply_err(request, ENODEV);
  return true;
}

void on_lookup(fuse_req_t request, fuse_ino_t, const char* name) {
  if (refused(request)) return;
  const EmulatedDrive& drive = drive_of(request);
  const auto file = std::ranges::find(drive.files(), std::string_view(name), &DriveFile::name);
  if (file == drive.files().end()) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  fuse_entry_param entry{};
  entry.ino = kFirstFile + static_cast<fuse_ino_t>(file - drive.files().begin());
  entry.attr = attributes(drive, entry.ino);
  fuse_reply_entry(request, &entry);
}

void on_getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  if (refused(request)) return;
  const struct stat status = attributes(drive_of(request), inode);
  fuse_reply_attr(request, &status, 0);
}

void on_open(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  if (refused(request)) return;
  info->direct_io = 1;  // Every read comes here, with the size that the program asked for.
  fuse_reply_open(request, info);
}

void on_read(fuse_req_t request, fuse_ino_t inode, size_t bytes, off_t offset, fuse_file_info*) {
  if (refused(request)) return;
  drive_of(request).start(request, inode - kFirstFile, static_cast<uint64_t>(offset), bytes);
}

void on_readdir(fuse_req_t request, fuse_ino_t, size_t bytes, off_t offset, fuse_file_info*) {
  if (refused(request)) return;
  const EmulatedDrive& drive = drive_of(request);
  std::vector<char> entries(bytes);
  size_t used = 0;
  for (size_t i = static_cast<size_t>(offset); i < drive.files().size(); ++i) {
    const struct stat status = attributes(drive, kFirstFile + i);
    const size_t entry =
        fuse_add_direntry(request, entries.data() + used, bytes - used,
                          drive.files()[i].name.c_str(), &status, static_cast<off_t>(i + 1));
    if (entry > bytes - used) break;
    used += entry;
  }
  fuse_reply_buf(request, entries.data(), used);
}

void on_init(void*, fuse_conn_info* connection) { connection->max_background = 256; }

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops known{};
  known.init = on_init;
  known.lookup = on_lookup;
  known.getattr = on_getattr;
  known.open = on_open;
  known.read = on_read;
  known.readdir = on_readdir;
  return known;
}

class Kernel final : public DriveClient {
 public:
  void give(void* request, std::span<const char> bytes) override {
    fuse_reply_buf(static_cast<fuse_req_t>(request), bytes.data(), bytes.size());
  }
  void refuse(void* request, int error) override {
    fuse_reply_err(static_cast<fuse_req_t>(request), error);
  }
};

/// The lines of standard input as they come.
class Commands {
 public:
  /// Hands on each whole line that is there and prints the answer. False at the end of the input.
  bool take(EmulatedDrive& drive) {
    std::array<char, 4096> part;
    const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
    if (count == 0) return false;
    text_.append(part.data(), count > 0 ? static_cast<size_t>(count) : 0);
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      std::puts(drive.obey(text_.substr(0, end)).c_str());
      text_.erase(0, end + 1);
    }
    std::fflush(stdout);
    return true;
  }

 private:
  std::string text_;
};

void serve(fuse_session* session, EmulatedDrive& drive) {
  Commands commands;
  fuse_buf message{};
  std::array<pollfd, 2> sources = {
      {{.fd = fuse_session_fd(session), .events = POLLIN, .revents = 0},
       {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
  while (!fuse_session_exited(session)) {
    timespec timeout{};
    const std::optional<EmulatedDrive::Clock::time_point> due = drive.next_due();
    if (due) {
      const auto left =
          std::max(*due - EmulatedDrive::Clock::now(), EmulatedDrive::Clock::duration(0));
      timeout = {.tv_sec = left / std::chrono::seconds(1),
                 .tv_nsec = (left % std::chrono::seconds(1)).count()};
    }
    if (::ppoll(sources.data(), sources.size(), due ? &timeout : nullptr, nullptr) > 0) {
      if (sources[0].revents != 0 && fuse_session_receive_buf(session, &message) > 0) {
        fuse_session_process_buf(session, &message);
      }
      if (sources[1].revents != 0 && !commands.take(drive)) {
        break;
      }
    }
    drive.answer_due();
  }
  drive.refuse_all();
  std::free(message.mem);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs(kUsage, stderr);
    std::fputs(EmulatedDrive::kCommands, stderr);
    return 2;
  }
  Kernel kernel;
  EmulatedDrive drive(argv[1], kernel);
  std::array<char*, 3> words = {argv[0], const_cast<char*>("-o"),
                                const_cast<char*>("ro,fsname=fuse_drive")};
  fuse_args options = FUSE_ARGS_INIT(static_cast<int>(words.size()), words.data());
  const fuse_lowlevel_ops known = operations();
  fuse_session* const session = fuse_session_new(&options, &known, sizeof known, &drive);
  if (session == nullptr || fuse_set_signal_handlers(session) != 0 ||
      fuse_session_mount(session, argv[2]) != 0) {
    return 1;
  }
  // The kernel otherwise wakes it up to 50 microseconds late, a tenth of a read of a fast drive.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  std::puts("ready");
  std::fflush(stdout);
  serve(session, drive);
  fuse_session_unmount(session);
  fuse_remove_signal_handlers(session);
  fuse_session_destroy(session);
  fuse_opt_free_args(&options);
  return 0;
}
