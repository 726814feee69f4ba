// Without these tests a path with a blank, or a mount over another, could be taken for the wrong
// drive.
#include "io/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::io {
namespace {

constexpr const char* kMountinfo =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,discard\n"
    "30 27 0:27 / /dev/shm rw - tmpfs tmpfs rw\n"
    "31 27 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
    "40 27 8:1 / /mnt/old rw,noatime shared:7 master:2 - xfs /dev/sda1 rw\n"
    "41 27 8:17 / /mnt/old rw,noatime - xfs /dev/sdb1 rw\n"
    "42 27 0:50 / /mnt/My\\040Drive ro,relatime - fuse.sshfs me@host:/x rw,user_id=0\n"
    "43 27 259:2 /etc/hosts /etc/hosts rw - ext4 /dev/nvme0n1p2 rw\n"
    "44 27 7:3 / /snap/core/1 ro - squashfs /dev/loop3 ro\n"
    "45 27 0:60 / /nas rw - nfs4 nas:/export ro,vers=4.2\n"
    "not a mount\n"
    "46 27 8:x / /bad rw - ext4 /dev/sdc rw\n";

std::vector<std::string> points(const std::vector<Mount>& mounts) {
  std::vector<std::string> out;
  for (const Mount& mount : mounts) out.push_back(mount.point.string());
  return out;
}

TEST(MountTable, ReadsWhatTheKernelWrites) {
  const std::vector<Mount> mounts = parse_mounts(kMountinfo);
  ASSERT_EQ(mounts.size(), 10u);
  EXPECT_EQ(mounts[1], (Mount{.device = {259, 2},
                              .point = "/",
                              .root = "/",
                              .file_system = "ext4",
                              .source = "/dev/nvme0n1p2"}));
  EXPECT_EQ(mounts[6], (Mount{.device = {0, 50},
                              .point = "/mnt/My Drive",
                              .root = "/",
                              .file_system = "fuse.sshfs",
                              .source = "me@host:/x",
                              .read_only = true}));
  EXPECT_EQ(mounts[7].root, "/etc/hosts");
  // The file system is read-only, whatever the mount says.
  EXPECT_TRUE(mounts[9].read_only);
}

TEST(MountTable, FindsTheMountOfAPath) {
  const std::vector<Mount> mounts = parse_mounts(kMountinfo);
  const std::pair<const char*, const char*> cases[] = {
      {"/srv/a", "/dev/nvme0n1p2"},
      {"/mnt/My Drive/x", "me@host:/x"},
      {"/mnt/My Drives", "/dev/nvme0n1p2"},
      {"/mnt/old/model", "/dev/sdb1"},
      {"/nas", "nas:/export"},
  };
  for (const auto& [path, source] : cases) {
    const Mount* const mount = mount_of(mounts, path);
    ASSERT_NE(mount, nullptr) << path;
    EXPECT_EQ(mount->source, source) << path;
  }
  EXPECT_EQ(mount_of({}, "/x"), nullptr);
}

TEST(MountTable, ShowsEachPlaceForFilesOnce) {
  EXPECT_THAT(points(mounts_for_files(parse_mounts(kMountinfo))),
              testing::ElementsAre("/", "/dev/shm", "/mnt/old", "/mnt/My Drive", "/nas"));
}

}  // namespace
}  // namespace sluice::io
