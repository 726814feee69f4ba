// Without these tests two folders on one disk could be bought as two drives, and a file in memory
// could pass for a fast one.
#include "io/drive_list.h"

#include "base/error.h"
#include "io/test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::io {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// A made-up system: what is mounted, and block devices.
class System {
 public:
  explicit System(const std::string& mountinfo) {
    file("proc/self/mountinfo", mountinfo);
    device("devices/pci0/nvme/nvme0/nvme0n1", "259:0");
    device("devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1", "259:1");
    file("sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1/partition", "1");
    device("devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2", "259:2");
    file("sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2/partition", "2");
    device("devices/virtual/block/dm-0", "253:0");
    link("sys/devices/virtual/block/dm-0/slaves/nvme0n1p2",
         "sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2");
    link("dev/mapper/data", "dev/dm-0");
  }
  [[nodiscard]] const fs::path& root() const { return folder_.path(); }
  void device(const fs::path& folder, const std::string& number) {
    file("sys" / folder / "size", "16");
    link(fs::path("sys/dev/block") / number, "sys" / folder);
    link(fs::path("sys/class/block") / folder.filename(), "sys" / folder);
    file(fs::path("dev") / folder.filename(), "");
  }
  void loop(int number, const std::string& shows, bool direct) {
    const fs::path folder = "devices/virtual/block/loop" + std::to_string(number);
    device(folder, "7:" + std::to_string(number));
    file("sys" / folder / "loop/backing_file", shows);
    file("sys" / folder / "loop/dio", direct ? "1" : "0");
  }

 private:
  void file(const fs::path& path, const std::string& text) {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text;
  }
  void link(const fs::path& path, const fs::path& to) {
    fs::create_directories((root() / path).parent_path());
    fs::create_symlink(root() / to, root() / path);
  }
  TestFolder folder_;
};

TEST(DriveList, SeesWhatEachPlaceLiesOn) {
  System system(
      "1 0 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n"
      "2 1 0:44 / /none/data rw - btrfs /dev/mapper/data rw\n"
      "3 1 7:1 / /none/image rw - xfs /dev/loop1 rw\n"
      "4 1 0:45 / /none/nas rw - nfs4 nas:/x rw\n"
      "5 1 0:46 / /none/drive rw - fuse.sshfs me@x: rw\n"
      "6 1 0:47 / /none/memory rw - tmpfs tmpfs rw\n"
      "7 1 0:48 / /none/odd rw - zfs pool rw\n");
  system.loop(1, "/none/data/image", true);
  const std::vector<ListedDrive> drives = list_drives(system.root(), {});
  std::vector<std::string> buses, names;
  for (const ListedDrive& drive : drives) {
    buses.push_back(drive.bus);
    names.push_back(drive.device ? drive.device->name : "-");
  }
  EXPECT_THAT(names, ElementsAre("nvme0n1p1", "dm-0", "loop1", "-", "-", "-", "-"));
  EXPECT_THAT(buses, ElementsAre("nvme", "dm", "loop", "network", "fuse", "memory", ""));
  for (size_t d = 0; d < 3; ++d) EXPECT_THAT(drives[d].disks, ElementsAre("nvme0n1")) << d;
  EXPECT_THAT(drives[3].disks, ElementsAre());
  EXPECT_NE(drives[3].trouble, "");  // There is no such folder here.
  EXPECT_THAT(sharing(drives), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
}

TEST(DriveList, KnowsWhatOnlyMemoryAnswers) {
  System system(
      "1 0 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n"
      "2 1 0:47 / /none/memory rw - tmpfs tmpfs rw\n"
      "3 1 7:1 / /none/cached rw - ext4 /dev/loop1 rw\n"
      "4 1 7:2 / /none/direct rw - ext4 /dev/loop2 rw\n"
      "5 1 7:3 / /none/in_memory rw - ext4 /dev/loop3 rw\n");
  system.loop(1, "/images/a", false);
  system.loop(2, "/images/a", true);
  system.loop(3, "/none/memory/a", true);
  std::vector<std::string> reasons;
  for (const ListedDrive& drive : list_drives(system.root(), {})) {
    reasons.push_back(why_no_drive(drive, system.root()));
  }
  EXPECT_THAT(reasons, ElementsAre("", HasSubstr("is memory"), HasSubstr("--direct-io=on"), "",
                                   HasSubstr("lies in memory")));
}

TEST(DriveList, NamesAPathThatIsNotThere) {
  try {
    (void)list_drives("/", {"/none/at/all"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr("/none/at/all"));
  }
}

TEST(DriveList, GathersPathsOfOnePlace) {
  const TestFolder folder;
  const std::string a = folder.write("a", 10, 1), b = folder.write("b", 10, 2);
  const std::vector<ListedDrive> drives = list_drives("/", {a, b});
  ASSERT_EQ(drives.size(), 1u);
  EXPECT_THAT(drives[0].paths, ElementsAre(a, b));
  EXPECT_EQ(drives[0].trouble, "");
  EXPECT_EQ(drives[0].total_bytes, fs::space(folder.path()).capacity);
}

}  // namespace
}  // namespace sluice::io
