#include "cli/work_report.h"

#include "base/types.h"
#include "cli/terminal.h"
#include "stream/memory_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {

using stream::human_bytes;

WorkReport::WorkReport(Settings settings)
    : settings_(std::move(settings)),
      progress_({[this] { return text(); }, [this] { return share(); }},
                settings_.json || settings_.quiet) {}

void WorkReport::advance(uint64_t bytes) {
  done_ += bytes;
  const double now = seconds();
  if (!settings_.json || now - told_ < 1.0) return;
  told_ = now;
  write_output(fmt::format(R"({{"event":"progress","bytes":{},"total":{},"seconds":{}}})"
                           "\n",
                           done_.load(), settings_.total, now));
}

double WorkReport::seconds() const { return to_seconds(std::chrono::steady_clock::now() - start_); }

double WorkReport::share() const {
  return settings_.total == 0 ? 1.0
                              : static_cast<double>(done_) / static_cast<double>(settings_.total);
}

std::string WorkReport::text() const {
  return fmt::format("{} {} of {}, {:.0f} MB/s", settings_.what, human_bytes(done_),
                     human_bytes(settings_.total),
                     static_cast<double>(done_) / 1e6 / std::max(seconds(), 1e-3));
}

}  // namespace sluice::cli
