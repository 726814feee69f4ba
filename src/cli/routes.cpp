#include "base/error.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "format/route_trace.h"
#include "stream/route_statistics.h"

#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;
using stream::RouteFigures;
using stream::RouteStatistics;

const char* kind_name(format::PassKind kind) {
  return kind == format::PassKind::kDecode ? "decode" : "prefill";
}

Json header_json(const format::RouteTraceHeader& header) {
  return {{"layers", header.layers},
          {"first_moe_layer", header.first_moe_layer},
          {"experts", header.experts},
          {"experts_per_token", header.top_k},
          {"fingerprint", fmt::format("{:016x}", header.fingerprint)}};
}

Json figures_json(const RouteFigures& figures) {
  Json unions = Json::object();
  for (size_t i = 0; i < stream::kUnionRows.size(); ++i) {
    unions[fmt::format("{}", stream::kUnionRows[i])] = figures.union_experts[i];
  }
  return {{"slots", figures.slots},
          {"experts_used", figures.experts_used},
          {"experts_unused", figures.experts_unused},
          {"top_share", figures.top_share},
          {"quarter_share", figures.quarter_share},
          {"reuse", figures.reuse},
          {"union_experts", std::move(unions)}};
}

std::string figures_line(const std::string& name, const RouteFigures& figures) {
  std::string out =
      fmt::format("{:<6}{:>10}{:>8}{:>8}{:>7.2f}%{:>8.2f}%{:>7.2f}% ", name, figures.slots,
                  figures.experts_used, figures.experts_unused, 100.0 * figures.top_share,
                  100.0 * figures.quarter_share, 100.0 * figures.reuse);
  for (const double experts : figures.union_experts) {
    out += experts == 0.0 ? fmt::format("{:>7}", "-") : fmt::format("{:>7.1f}", experts);
  }
  return out + "\n";
}

class RoutesCommand : public Command {
 public:
  std::string name() const override { return "routes"; }
  std::string summary() const override {
    return "Reports how evenly and how steadily a model used its experts";
  }
  std::string details() const override {
    return "Of a trace that eval --routes wrote. For each layer: the slots (choices of an expert "
           "by a token); the experts used and never used; the share of the slots that went to the "
           "most used expert (top) and to the most used quarter of them (quarter); the share of a "
           "token's experts that the token before it used too (reuse); and how many distinct "
           "experts 1, 2, 4 ... consecutive tokens used on average. The last line sums the counts "
           "and averages the shares over the layers.";
  }
  void declare(OptionList& options) override {
    options.argument({"FILE", "", "the trace"}, file_, Completion::kFile);
    options.flag({"json", "", "print the report as one JSON object"}, json_);
    options.flag({"jsonl", "", "print the trace itself instead, a line for each pass and layer"},
                 jsonl_);
  }
  int run() override;

 private:
  void print_passes(format::RouteTraceReader& reader) const;
  [[nodiscard]] std::string text(const RouteStatistics& statistics,
                                 const format::RouteTraceHeader& header) const;
  [[nodiscard]] std::string json(const RouteStatistics& statistics,
                                 const format::RouteTraceReader& reader) const;

  std::string file_;
  bool json_ = false, jsonl_ = false;
};

void RoutesCommand::print_passes(format::RouteTraceReader& reader) const {
  const format::RouteTraceHeader& header = reader.header();
  format::RoutePass pass;
  while (reader.next(pass)) {
    const size_t slots = pass.rows.size() * header.top_k;
    std::string lines;
    for (uint32_t layer = 0; layer < header.moe_layers(); ++layer) {
      const auto of_layer = [&](const auto& all) {
        return fmt::join(std::span(all).subspan(layer * slots, slots), ",");
      };
      lines += fmt::format(R"({{"step":{},"kind":"{}","layer":{},"ids":[{}],"w":[{}]}})",
                           pass.number, kind_name(pass.kind), header.first_moe_layer + layer,
                           of_layer(pass.experts), of_layer(pass.weights));
      lines += '\n';
    }
    write_output(lines);
  }
}

std::string RoutesCommand::text(const RouteStatistics& statistics,
                                const format::RouteTraceHeader& header) const {
  std::string out = fmt::format(
      "{} passes over {} tokens ({} of prompts, {} of answers) in {} sequences; {} of {} experts "
      "a token in {} layers\n\n",
      statistics.passes(), statistics.prefill_rows() + statistics.decode_rows(),
      statistics.prefill_rows(), statistics.decode_rows(), statistics.runs(), header.top_k,
      header.experts, header.moe_layers());
  out += fmt::format("{:<6}{:>10}{:>8}{:>8}{:>8}{:>9}{:>8}  distinct experts of n tokens\n", "", "",
                     "experts", "never", "", "", "");
  out += fmt::format("{:<6}{:>10}{:>8}{:>8}{:>8}{:>9}{:>8} ", "layer", "slots", "used", "used",
                     "top", "quarter", "reuse");
  for (const uint32_t rows : stream::kUnionRows) out += fmt::format("{:>7}", rows);
  out += "\n";
  for (uint32_t layer = header.first_moe_layer; layer < header.layers; ++layer) {
    out += figures_line(fmt::format("{}", layer), statistics.layer(layer));
  }
  return out + figures_line("all", statistics.overall());
}

std::string RoutesCommand::json(const RouteStatistics& statistics,
                                const format::RouteTraceReader& reader) const {
  Json report = {{"model", header_json(reader.header())},
                 {"passes", statistics.passes()},
                 {"prefill_rows", statistics.prefill_rows()},
                 {"decode_rows", statistics.decode_rows()},
                 {"sequences", statistics.runs()},
                 {"bytes_left_out", reader.bytes_left_out()},
                 {"overall", figures_json(statistics.overall())},
                 {"by_layer", Json::array()}};
  const format::RouteTraceHeader& header = reader.header();
  for (uint32_t layer = header.first_moe_layer; layer < header.layers; ++layer) {
    Json entry = {{"layer", layer}};
    entry.update(figures_json(statistics.layer(layer)));
    report["by_layer"].push_back(std::move(entry));
  }
  return report.dump() + "\n";
}

int RoutesCommand::run() {
  if (json_ && jsonl_) {
    throw Error(ErrorCode::kInvalidInput,
                "--json and --jsonl both claim standard output; give one");
  }
  format::RouteTraceReader reader(file_);
  if (jsonl_) {
    print_passes(reader);
  } else {
    RouteStatistics statistics(reader.header());
    format::RoutePass pass;
    while (reader.next(pass)) statistics.add(pass);
    write_output(json_ ? json(statistics, reader) : text(statistics, reader.header()));
  }
  if (reader.bytes_left_out() > 0) {
    fmt::print(stderr, "{}: the last {} bytes are no whole pass and are left out\n", file_,
               reader.bytes_left_out());
  }
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_routes_command() { return std::make_unique<RoutesCommand>(); }

}  // namespace sluice::cli
