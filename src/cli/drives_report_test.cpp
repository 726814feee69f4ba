// Without these tests a drive that was refused could get figures, or a figure the wrong unit.
#include "cli/drives_report.h"

#include "cli/size_text.h"
#include "cli/text_table.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;
using testing::Not;

io::ReadCell cell(uint64_t bytes, uint32_t depth, double rate) {
  return {.setting = {bytes, depth},
          .bytes_per_second = rate,
          .reads = 10,
          .latency = {microseconds(1500), microseconds(2500), microseconds(3500)}};
}

MeasuredDrive drive(const std::string& name, double rate) {
  MeasuredDrive out{.name = name, .paths = {name}, .file_bytes = 1u << 30};
  out.cells = {cell(64u << 10, 1, rate / 4), cell(64u << 10, 4, rate / 2), cell(1u << 20, 4, rate)};
  out.ceiling = io::ceiling_of(out.cells);
  return out;
}

TEST(DrivesReport, SaysTheSameToPeopleAndPrograms) {
  DrivesReport report{.method = "io_uring", .drives = {drive("/a", 4e9), drive("/b", 2e9)}};
  report.together = {.bytes_per_second = 3e9,
                     .sum_of_ceilings = 6e9,
                     .drives = {cell(1u << 20, 4, 2e9), cell(1u << 20, 4, 1e9)}};
  const std::string text = text_of(report);
  EXPECT_THAT(text, HasSubstr("Ceiling 4.00 GB/s, with 4 reads of 1 MiB in flight"));
  EXPECT_THAT(text, HasSubstr("64 KiB          1  1.00   1.500   2.500   3.500"));
  EXPECT_THAT(text, HasSubstr("25.8 GB, take 6.5 s"));
  EXPECT_THAT(text, HasSubstr("Together 3.00 GB/s, 50 % of the 6.00 GB/s of each alone: they"));
  const auto json = nlohmann::json::parse(json_of(report));
  EXPECT_EQ(json["drives"][1]["ceiling_bytes_per_second"], 2e9);
  EXPECT_EQ(json["drives"][1]["enough_window_bytes"], 4u << 20);
  EXPECT_EQ(json["drives"][0]["sweep"][1]["read_bytes"], 65536);
  EXPECT_EQ(json["drives"][0]["sweep"][1]["p90_ms"], 2.5);
  EXPECT_EQ(json["together"]["drives"][1]["bytes_per_second"], 1e9);
}

TEST(DrivesReport, WhatWasRefusedHasNoFigures) {
  MeasuredDrive refused = drive("/b", 9e9);
  refused.refused = "it is memory";
  const DrivesReport report{.method = "io_uring", .drives = {drive("/a", 4e9), refused}};
  EXPECT_THAT(text_of(report), HasSubstr("/b: no figures: it is memory"));
  EXPECT_THAT(text_of(report), Not(HasSubstr("9.00")));
  const auto json = nlohmann::json::parse(json_of(report));
  EXPECT_EQ(json["drives"][1], (nlohmann::json{{"paths", {"/b"}}, {"refused", "it is memory"}}));
  EXPECT_THAT(svg_of(report), HasSubstr("4 in flight"));
}

TEST(DrivesReport, TheChartHasALineForEachDepthOrDrive) {
  DrivesReport report{.drives = {drive("/a", 4e9)}};
  EXPECT_THAT(svg_of(report), HasSubstr("1 in flight"));
  report.drives.push_back(drive("/b", 2e9));
  EXPECT_THAT(svg_of(report), Not(HasSubstr("in flight")));
  EXPECT_THAT(svg_of(report), HasSubstr("/b"));
}

TEST(TextTable, NumbersStandToTheRight) {
  TextTable table({"name", "GB/s"});
  table.add({"a", "10.00"});
  table.add({"longer", "2.50"});
  EXPECT_EQ(table.text(), "name     GB/s\na       10.00\nlonger   2.50\n");
}

TEST(ReadSizeText, IsExact) {
  EXPECT_EQ(read_size_text(17u << 20), "17 MiB");
  EXPECT_EQ(read_size_text(64u << 10), "64 KiB");
  EXPECT_EQ(read_size_text(17'547'264), "17136 KiB");
  EXPECT_EQ(read_size_text(1000), "1000 B");
}

}  // namespace
}  // namespace sluice::cli
