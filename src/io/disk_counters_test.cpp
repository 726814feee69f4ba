// Without these tests a column of the system's counters could be taken for another, and a view of
// the drives would show plausible nonsense.
#include "io/disk_counters.h"

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

TEST(DiskCounters, ReadsWhatTheKernelWrites) {
  const std::vector<DiskCounters> disks = parse_disk_counters(
      " 259       0 nvme0n1 11 12 13 14 21 22 23 24 3 31 32 41 42 43 44 51 52\n"
      "   7       0 loop0 1 0 2 3 0 0 0 0 0 4 5\n"
      "   8       0 sda 1 2 3\n"
      "   8      16 sdb 1 2 x 4 5 6 7 8 9 10 11\n"
      "\n");
  ASSERT_EQ(disks.size(), 2u);
  EXPECT_EQ(disks[0], (DiskCounters{.name = "nvme0n1",
                                    .reads = 11,
                                    .read_bytes = 13 * 512,
                                    .read_ms = 14,
                                    .writes = 21,
                                    .write_bytes = 23 * 512,
                                    .write_ms = 24,
                                    .busy_ms = 31,
                                    .queued_ms = 32}));
  EXPECT_EQ(disks[1].name, "loop0");
  EXPECT_EQ(disks[1].queued_ms, 5u);
}

TEST(DiskCounters, RatesAreDifferencesByTime) {
  const DiskCounters before{.name = "a",
                            .reads = 100,
                            .read_bytes = 1000,
                            .read_ms = 0xffffff00,
                            .writes = 5,
                            .write_bytes = 50,
                            .busy_ms = 1000,
                            .queued_ms = 0xfffffff0};
  DiskCounters after = before;
  after.reads += 40;
  after.read_bytes += 8000;
  after.read_ms = 0x20;  // Wrapped: 288 ms later.
  after.write_bytes += 600;
  after.busy_ms += 1500;
  after.queued_ms = 0x0fb0;  // Wrapped: 4032 ms later.
  const DriveRates rates = rates_between(before, after, 2.0);
  EXPECT_DOUBLE_EQ(rates.read_bytes_per_second, 4000);
  EXPECT_DOUBLE_EQ(rates.write_bytes_per_second, 300);
  EXPECT_DOUBLE_EQ(rates.reads_per_second, 20);
  EXPECT_DOUBLE_EQ(rates.latency_ms, 7.2);
  EXPECT_DOUBLE_EQ(rates.busy, 0.75);
  EXPECT_DOUBLE_EQ(rates.queue, 2.016);
}

TEST(DiskCounters, ADriveThatDidNothingHasNoLatency) {
  const DiskCounters same{.name = "a", .reads = 7, .read_bytes = 70, .read_ms = 9};
  const DriveRates rates = rates_between(same, same, 1.0);
  EXPECT_EQ(rates.latency_ms, 0);
  EXPECT_EQ(rates.read_bytes_per_second, 0);
}

TEST(DiskCounters, ADriveThatCameBackCountsAnew) {
  const DiskCounters before{.name = "a", .reads = 1000, .read_bytes = 5000};
  const DiskCounters after{.name = "a", .reads = 10, .read_bytes = 300};
  EXPECT_DOUBLE_EQ(rates_between(before, after, 1.0).read_bytes_per_second, 300);
}

TEST(DiskCounters, SharesAddUp) {
  std::vector<DriveRates> rates(3);
  share_out(rates);
  EXPECT_EQ(rates[0].share, 0);
  rates[0].read_bytes_per_second = 3e9;
  rates[2].read_bytes_per_second = 1e9;
  share_out(rates);
  EXPECT_DOUBLE_EQ(rates[0].share, 0.75);
  EXPECT_DOUBLE_EQ(rates[1].share, 0);
  EXPECT_DOUBLE_EQ(rates[2].share, 0.25);
}

}  // namespace
}  // namespace sluice::io
