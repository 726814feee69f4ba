#include "base/error.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "format/read_trace.h"
#include "stream/read_summary.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;
using format::ReadTraceHeader;
using stream::DriveReads;
using stream::ReadSummary;

double milliseconds(Nanos time) { return std::chrono::duration<double, std::milli>(time).count(); }
double gigabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }
uint64_t sum(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

double mean_behind(const DriveReads& drive) {
  return drive.last == 0 ? 0.0 : milliseconds(drive.behind) / static_cast<double>(drive.last);
}

Json by_name(const std::vector<std::string>& names, const std::vector<uint64_t>& values) {
  Json object = Json::object();
  for (size_t i = 0; i < names.size(); ++i) object[names[i]] = values[i];
  return object;
}

/// A field of a CSV file that may have any characters.
std::string csv_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

class ReadsCommand : public Command {
 public:
  std::string name() const override { return "reads"; }
  std::string summary() const override { return "Reports what was read from which drive, and how"; }
  std::string details() const override {
    return "Of a trace that --read-trace wrote. For each drive: gigabytes by what they were read "
           "for (fill: hints for weights that then stay for ever); how many reads ended well and "
           "badly; how long the good ones took, half of them at most and 99 of 100 at most; how "
           "often its read was the last of those that a layer's experts waited for, and by how "
           "much on average, counted from the last read of the other drives. The sums are compared "
           "with what the program counted itself.";
  }
  void declare(OptionList& options) override {
    options.argument({"FILE", "", "the trace"}, file_, Completion::kFile);
    options.flag({"json", "", "print the report as one JSON object"}, json_);
    options.flag({"csv", "", "print the trace itself instead, a line for each read"}, csv_);
  }
  int run() override;

 private:
  void print_reads(format::ReadTraceReader& reader) const;
  void report(format::ReadTraceReader& reader) const;
  [[nodiscard]] static std::string text(const ReadSummary& summary, const ReadTraceHeader& header);
  [[nodiscard]] static std::string json(const ReadSummary& summary,
                                        const format::ReadTraceReader& reader);

  std::string file_;
  bool json_ = false, csv_ = false;
};

void ReadsCommand::print_reads(format::ReadTraceReader& reader) const {
  const ReadTraceHeader& header = reader.header();
  std::string lines =
      "started_ns,duration_ns,round,segment,segment_name,piece,file,drive,bytes,queued_bytes,"
      "priority,outcome,errno,retry\n";
  for (format::ReadBlock block; reader.next(block);) {
    for (const format::TracedRead& read : block.reads) {
      const ReadTraceHeader::File& file = header.files[read.file.value];
      lines += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", read.started.count(),
                           read.duration.count(), read.round, read.segment.value,
                           csv_text(header.segment_name(read.segment)), read.piece,
                           csv_text(file.path), csv_text(header.drives[file.drive.value]),
                           read.bytes, read.queued_bytes, header.priorities[read.priority],
                           header.outcomes[read.outcome], read.error, read.retry ? 1 : 0);
    }
    write_output(lines);
    lines.clear();
  }
  write_output(lines);
}

std::string ReadsCommand::text(const ReadSummary& summary, const ReadTraceHeader& header) {
  std::string out = fmt::format(
      "{} reads in {:.3f} s, {} of them after another had failed; {} layers waited for reads "
      "of experts\n\n",
      summary.reads(), milliseconds(summary.span()) / 1e3, summary.retries(), summary.barriers());
  size_t width = 5;
  for (const std::string& drive : header.drives) width = std::max(width, drive.size());
  out += fmt::format("{:<{}}", "drive", width);
  for (const std::string& priority : header.priorities) out += fmt::format("{:>10}", priority);
  out += fmt::format("{:>10}{:>10}{:>8}{:>10}{:>10}{:>8}{:>11}\n", "GB", "reads", "failed",
                     "p50 ms", "p99 ms", "last", "behind ms");
  const std::vector<DriveReads> drives = summary.drives();
  for (size_t d = 0; d < drives.size(); ++d) {
    const DriveReads& drive = drives[d];
    out += fmt::format("{:<{}}", header.drives[d], width);
    for (const uint64_t bytes : drive.bytes) out += fmt::format("{:>10.3f}", gigabytes(bytes));
    const uint64_t reads = sum(drive.reads), good = drive.reads.empty() ? 0 : drive.reads[0];
    out += fmt::format("{:>10.3f}{:>10}{:>8}{:>10.3f}{:>10.3f}{:>8}{:>11.3f}\n",
                       gigabytes(sum(drive.bytes)), reads, reads - good, milliseconds(drive.p50),
                       milliseconds(drive.p99), drive.last, mean_behind(drive));
  }
  return out;
}

std::string ReadsCommand::json(const ReadSummary& summary, const format::ReadTraceReader& reader) {
  const ReadTraceHeader& header = reader.header();
  Json report = {{"fingerprint", fmt::format("{:016x}", header.fingerprint)},
                 {"reads", summary.reads()},
                 {"lost", summary.lost()},
                 {"retries", summary.retries()},
                 {"seconds", milliseconds(summary.span()) / 1e3},
                 {"barriers", summary.barriers()},
                 {"finished", reader.end().has_value()},
                 {"bytes_left_out", reader.bytes_left_out()},
                 {"drives", Json::array()}};
  const std::vector<DriveReads> drives = summary.drives();
  for (size_t d = 0; d < drives.size(); ++d) {
    report["drives"].push_back({{"name", header.drives[d]},
                                {"bytes", by_name(header.priorities, drives[d].bytes)},
                                {"reads", by_name(header.outcomes, drives[d].reads)},
                                {"p50_ms", milliseconds(drives[d].p50)},
                                {"p99_ms", milliseconds(drives[d].p99)},
                                {"last", drives[d].last},
                                {"behind_ms", milliseconds(drives[d].behind)}});
  }
  if (reader.end()) {
    report["counters"] = Json::object();
    for (const auto& [name, value] : reader.end()->counters) report["counters"][name] = value;
  }
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void ReadsCommand::report(format::ReadTraceReader& reader) const {
  ReadSummary summary(reader.header());
  for (format::ReadBlock block; reader.next(block);) summary.add(block);
  if (reader.end() && summary.lost() == 0) {
    if (const std::string difference = summary.disagreement(*reader.end()); !difference.empty()) {
      throw Error(ErrorCode::kCorrupt, "{}: its reads are not those of the run: {}; report this",
                  file_, difference);
    }
  }
  write_output(json_ ? json(summary, reader) : text(summary, reader.header()));
  if (summary.lost() > 0) {
    fmt::print(
        stderr,
        "{}: {} more reads came too fast to be recorded; write the trace to a faster drive\n",
        file_, summary.lost());
  }
}

int ReadsCommand::run() {
  if (json_ && csv_) {
    throw Error(ErrorCode::kInvalidInput, "--json and --csv both claim standard output; give one");
  }
  format::ReadTraceReader reader(file_);
  if (csv_) {
    print_reads(reader);
  } else {
    report(reader);
  }
  if (!reader.end()) {
    fmt::print(stderr, "{}: the run did not end as it should; its last reads are not here\n",
               file_);
  }
  if (reader.bytes_left_out() > 0) {
    fmt::print(stderr, "{}: the last {} bytes are no whole block and are left out\n", file_,
               reader.bytes_left_out());
  }
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_reads_command() { return std::make_unique<ReadsCommand>(); }

}  // namespace sluice::cli
