#include "base/error.h"
#include "base/types.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/report_text.h"
#include "cli/report_timeline.h"
#include "cli/svg_chart.h"
#include "cli/terminal.h"
#include "format/output_file.h"
#include "format/read_trace_file.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

using format::ReadTraceHeader;
using format::ReadTraceReader;
using stream::ReadSummary;

constexpr double kNoTime = -1;
constexpr double kSecondsMax = 1e9;

/// A field of a CSV file that may have any characters.
std::string csv_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

class ReportCommand : public Command {
 public:
  std::string name() const override { return "report"; }
  std::string summary() const override {
    return "Tells what a run read, waited for and wasted, and which drive is to blame";
  }
  std::string details() const override;
  void declare(OptionList& options) override;
  int run() override;

 private:
  void print_reads(ReadTraceReader& reader) const;
  void report(ReadTraceReader& first) const;
  void check_sums(const ReadSummary& summary, const ReadTraceReader& reader) const;
  void warn_of_losses(const ReadSummary& summary) const;
  void warn_of_end(const ReadTraceReader& reader) const;
  void draw(const TimelineDrawing& drawing) const;
  [[nodiscard]] TimelineChoice choice() const;

  std::string file_, svg_file_;
  bool json_ = false, csv_ = false, layers_ = false;
  uint64_t passes_ = TimelineChoice{}.passes;
  double from_ = kNoTime, to_ = kNoTime;
};

std::string ReportCommand::details() const {
  return "Of a trace that --read-trace wrote. The first line names the drives to look at: those "
         "that throttled (gave less from some moment on than before), stalled (reads took many "
         "times what is usual), failed or held the others up.\n\n"
         "For each drive: gigabytes that somebody waited for, that were hinted and that then stay "
         "for ever, and how much of the hinted was given up unused; gigabytes per second while it "
         "was busy and how long that was; the bytes in flight when a read started; how many reads "
         "there were and failed; how long the good ones took, half of them at most and 99 of 100 "
         "at most; how often its read was the last of those that a layer's experts waited for, "
         "and by how much on average, counted from the last read of the other drives.\n\n"
         "For each layer, from its request for experts to the next layer's: the same and how long "
         "the engine waited for experts, waited for the spine, and computed, on average.\n\n"
         "The sums are compared with what the program counted itself.";
}

void ReportCommand::declare(OptionList& options) {
  options.argument({"TRACE", "", "the trace"}, file_, Completion::kFile);
  options.flag({"layers", "", "add a line for each layer"}, layers_);
  options.flag({"json", "", "print the report as one JSON object"}, json_);
  options.flag({"csv", "", "print the reads of the trace instead, a line for each"}, csv_);
  options.string({"svg", "FILE", "draw what the drives and the engine did when"}, svg_file_,
                 Completion::kFile);
  options.number({"passes", "N", "draw the last passes"}, passes_, Limits<uint64_t>{1, 1'000'000});
  options.needs("svg");
  options.number({"from", "SECONDS", "draw from this time on, counted from the start of the trace"},
                 from_, Limits<double>{0, kSecondsMax});
  options.describe_default("");
  options.needs("svg");
  options.number({"to", "SECONDS", "draw up to this time"}, to_, Limits<double>{0, kSecondsMax});
  options.describe_default("");
  options.needs("svg");
}

void ReportCommand::print_reads(ReadTraceReader& reader) const {
  const ReadTraceHeader& header = reader.header();
  std::string lines =
      "started_ns,duration_ns,round,segment,segment_name,piece,file,drive,bytes,queued_bytes,"
      "priority,outcome,errno,retry\n";
  for (format::TraceEvents events; reader.next(events);) {
    for (const format::TracedRead& read : events.reads.entries) {
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

// A trace that has everything and disagrees with the counters is a bug.
void ReportCommand::check_sums(const ReadSummary& summary, const ReadTraceReader& reader) const {
  if (!reader.end() || summary.reads_lost() > 0 || summary.others_lost() > 0) return;
  const std::string difference = summary.disagreement(*reader.end());
  if (difference.empty()) return;
  throw Error(ErrorCode::kCorrupt, "{}: its sums are not those of the run: {}; report this", file_,
              difference);
}

void ReportCommand::warn_of_losses(const ReadSummary& summary) const {
  if (summary.reads_lost() + summary.others_lost() == 0) return;
  fmt::print(stderr,
             "{}: {} more reads and {} more waits, requests and hints given up came too fast to be "
             "recorded; write the trace to a faster drive\n",
             file_, summary.reads_lost(), summary.others_lost());
}

void ReportCommand::warn_of_end(const ReadTraceReader& reader) const {
  if (!reader.end()) {
    fmt::print(stderr, "{}: the run did not end as it should; its last reads are not here\n",
               file_);
  }
  if (reader.bytes_left_out() > 0) {
    fmt::print(stderr, "{}: the last {} bytes are no whole block and are left out\n", file_,
               reader.bytes_left_out());
  }
}

TimelineChoice ReportCommand::choice() const {
  TimelineChoice choice{.passes = passes_};
  if (from_ != kNoTime) choice.from_seconds = from_;
  if (to_ != kNoTime) choice.to_seconds = to_;
  return choice;
}

void ReportCommand::draw(const TimelineDrawing& drawing) const {
  format::OutputFile file(svg_file_);
  file.write(svg(drawing.chart()));
  file.commit();
}

void ReportCommand::report(ReadTraceReader& first) const {
  ReadSummary summary(first.header());
  for (format::TraceEvents events; first.next(events);) summary.add(events);
  check_sums(summary, first);

  const auto window = timeline_window(summary, choice());
  if (!svg_file_.empty() && window.end <= window.begin) {
    throw Error(ErrorCode::kInvalidInput,
                "--from, --to: nothing happened then; the trace has {:.2f} s",
                to_seconds(summary.span().end - summary.span().begin));
  }
  stream::HealthCheck health(first.header(), summary, first.end());
  TimelineDrawing drawing(first.header(), summary, health, window);
  ReadTraceReader second(file_);
  for (format::TraceEvents events; second.next(events);) {
    health.add(events);
    if (!svg_file_.empty()) drawing.add(events);
  }
  const TraceReport report{.header = first.header(),
                           .summary = summary,
                           .end = first.end(),
                           .health = health.result(),
                           .bytes_left_out = first.bytes_left_out()};
  write_output(json_ ? report_json(report) : report_text(report, layers_));
  if (!svg_file_.empty()) draw(drawing);
  warn_of_losses(summary);
}

int ReportCommand::run() {
  if (json_ && csv_) {
    throw Error(ErrorCode::kInvalidInput, "--json and --csv both claim standard output; give one");
  }
  check_writable("--svg", svg_file_);
  ReadTraceReader reader(file_);
  if (csv_) {
    print_reads(reader);
  } else {
    report(reader);
  }
  warn_of_end(reader);
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_report_command() { return std::make_unique<ReportCommand>(); }

}  // namespace sluice::cli
