// Without these tests two folders on one disk could pass for two drives, and a cable that is too
// slow would not be seen.
#include "io/block_device.h"

#include "io/test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::io {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

/// A made-up /sys.
class Sys {
 public:
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }
  void file(const fs::path& path, const std::string& text) const {
    fs::create_directories((folder_.path() / path).parent_path());
    std::ofstream(folder_.path() / path) << text << '\n';
  }
  void link(const fs::path& path, const fs::path& to) const {
    fs::create_directories((folder_.path() / path).parent_path());
    fs::create_symlink(folder_.path() / to, folder_.path() / path);
  }
  /// A device in `folder`, with the links under which the system lists it.
  void device(const fs::path& folder, const std::string& number, uint64_t sectors) const {
    file(folder / "size", std::to_string(sectors));
    link(fs::path("dev/block") / number, folder);
    link(fs::path("class/block") / folder.filename(), folder);
  }

 private:
  TestFolder folder_;
};

TEST(BlockDevice, TellsModelBusAndLink) {
  struct Case {
    fs::path folder;
    std::vector<std::pair<fs::path, std::string>> files;
    std::string model, bus, link;
  };
  const fs::path pci = "devices/pci0000:00/0000:00:02.1/0000:03:00.0";
  const fs::path usb = "devices/pci0000:00/0000:00:14.0/usb4/4-1";
  const Case cases[] = {
      {pci / "nvme/nvme0/nvme0n1",
       {{pci / "current_link_speed", "16.0 GT/s PCIe"},
        {pci / "current_link_width", "4"},
        {pci / "nvme/nvme0/nvme0n1/device/model", "WD_BLACK SN8100  "}},
       "WD_BLACK SN8100",
       "nvme",
       "16.0 GT/s PCIe x4"},
      {pci / "nvme/nvme1/nvme1n1",
       {{pci / "current_link_speed", "8.0 GT/s PCIe"},
        {pci / "current_link_width", "2"},
        {pci / "removable", "removable"}},
       "",
       "nvme",
       "8.0 GT/s PCIe x2, external"},
      {usb / "4-1:1.0/host2/target2:0:0/2:0:0:0/block/sdb",
       {{usb / "speed", "10000"},
        {usb / "bDeviceClass", "00"},
        {usb / "4-1:1.0/host2/target2:0:0/2:0:0:0/block/sdb/device/vendor", "Samsung "},
        {usb / "4-1:1.0/host2/target2:0:0/2:0:0:0/block/sdb/device/model", "PSSD T9"}},
       "Samsung PSSD T9",
       "usb",
       "USB at 10000 Mb/s"},
      {"devices/pci0/ata3/host3/target3:0:0/3:0:0:0/block/sda",
       {{"devices/pci0/ata3/host3/target3:0:0/3:0:0:0/block/sda/device/vendor", "ATA"},
        {"devices/pci0/ata3/host3/target3:0:0/3:0:0:0/block/sda/device/model", "ST8000"}},
       "ST8000",
       "sata",
       ""},
      {"devices/pci0/virtio1/block/vda",
       {{"devices/pci0/virtio1/block/vda/device/vendor", "0x0000"}},
       "",
       "virtio",
       ""},
      {"devices/virtual/block/zram0", {}, "", "memory", ""},
      {"devices/virtual/block/nbd4", {}, "", "network", ""},
  };
  for (const Case& c : cases) {
    const Sys sys;
    sys.device(c.folder, "8:0", 2048);
    for (const auto& [path, text] : c.files) sys.file(path, text);
    const auto device = describe_device(sys.path(), DeviceNumber{8, 0});
    ASSERT_TRUE(device) << c.folder;
    EXPECT_EQ(device->name, c.folder.filename());
    EXPECT_EQ(device->model, c.model) << c.folder;
    EXPECT_EQ(device->bus, c.bus) << c.folder;
    EXPECT_EQ(device->link, c.link) << c.folder;
    EXPECT_EQ(device->bytes, 2048u * 512);
    EXPECT_THAT(device->disks, ElementsAre(device->name));
  }
}

TEST(BlockDevice, ReachesTheLinkOfADiskWithSeveralPaths) {
  const Sys sys;
  const fs::path subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0";
  const fs::path slot = "devices/pci0000:00/0000:01:00.0";
  sys.device(subsystem / "nvme0n1", "259:0", 8);
  sys.file(slot / "nvme/nvme0/transport", "pcie");
  sys.file(slot / "current_link_speed", "32.0 GT/s PCIe");
  sys.file(slot / "current_link_width", "4");
  sys.link(subsystem / "nvme0", slot / "nvme/nvme0");
  const auto device = describe_device(sys.path(), std::string("nvme0n1"));
  ASSERT_TRUE(device);
  EXPECT_EQ(device->link, "32.0 GT/s PCIe x4");
}

TEST(BlockDevice, FindsTheDisksBelow) {
  const Sys sys;
  const fs::path a = "devices/pci0/ata1/block/sda", b = "devices/pci0/ata2/block/sdb";
  const fs::path md = "devices/virtual/block/md0", dm = "devices/virtual/block/dm-0";
  sys.device(a, "8:0", 100);
  sys.device(a / "sda1", "8:1", 50);
  sys.file(a / "sda1/partition", "1");
  sys.file(a / "queue/rotational", "1");
  sys.file(a / "queue/logical_block_size", "4096");
  sys.device(b, "8:16", 100);
  sys.device(md, "9:0", 150);
  sys.link(md / "slaves/sda1", a / "sda1");
  sys.link(md / "slaves/sdb", b);
  sys.file(md / "md/level", "raid0");
  sys.device(dm, "253:0", 150);
  sys.link(dm / "slaves/md0", md);

  const auto partition = describe_device(sys.path(), DeviceNumber{8, 1});
  ASSERT_TRUE(partition);
  EXPECT_EQ(partition->name, "sda1");
  EXPECT_EQ(partition->bytes, 50u * 512);
  EXPECT_EQ(partition->bus, "sata");
  EXPECT_EQ(partition->rotational, true);
  EXPECT_EQ(partition->sector_bytes, 4096u);
  EXPECT_THAT(partition->disks, ElementsAre("sda"));

  const auto mapped = describe_device(sys.path(), DeviceNumber{253, 0});
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->bus, "dm");
  EXPECT_EQ(mapped->rotational, std::nullopt);
  EXPECT_THAT(mapped->disks, ElementsAre("sda", "sdb"));
  EXPECT_EQ(describe_device(sys.path(), DeviceNumber{9, 0})->model, "raid0");
}

TEST(BlockDevice, SaysWhatALoopDeviceShows) {
  for (const char* const direct : {"0", "1"}) {
    const Sys sys;
    sys.device("devices/virtual/block/loop0", "7:0", 8);
    sys.file("devices/virtual/block/loop0/loop/backing_file", "/images/a b.img");
    sys.file("devices/virtual/block/loop0/loop/dio", direct);
    const auto device = describe_device(sys.path(), DeviceNumber{7, 0});
    ASSERT_TRUE(device);
    EXPECT_EQ(device->bus, "loop");
    EXPECT_EQ(device->loop_file, "/images/a b.img");
    EXPECT_EQ(device->loop_direct, *direct == '1');
  }
}

TEST(BlockDevice, IsNotMadeUp) {
  const Sys sys;
  EXPECT_FALSE(describe_device(sys.path(), DeviceNumber{8, 0}));
  EXPECT_FALSE(describe_device(sys.path(), std::string("sda")));
}

}  // namespace
}  // namespace sluice::io
