#pragma once
#include "format/route_trace.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::stream {

/// Numbers of consecutive rows whose experts are counted together.
inline constexpr std::array<uint32_t, 7> kUnionRows = {1, 2, 4, 8, 16, 32, 64};

/// How the rows of a trace used the experts of one layer, or of all layers together.
struct RouteFigures {
  uint64_t slots = 0;           ///< Choices of an expert by a row.
  uint64_t experts_used = 0;    ///< Experts chosen at least once.
  uint64_t experts_unused = 0;  ///< Experts never chosen.
  double top_share = 0.0;       ///< Of the slots, those of the most chosen expert.
  double quarter_share = 0.0;   ///< Of the slots, those of the most chosen quarter of the experts.
  /// Of the slots of rows that follow another row, those whose expert that row chose too.
  double reuse = 0.0;
  /// Distinct experts of so many consecutive rows, on average; 0 where no sequence is that long.
  std::array<double, kUnionRows.size()> union_experts{};
};

/// Shares of the slots, from the number of times that each expert was chosen. Pure functions; 0
/// when nothing was chosen.
[[nodiscard]] double top_share(const std::vector<uint64_t>& counts);
/// A quarter that is no whole number is rounded up.
[[nodiscard]] double quarter_share(std::vector<uint64_t> counts);

/// Counts a trace, a pass at a time. Rows are consecutive when they follow each other in the trace,
/// in the same sequence and by position. Groups of n rows for the union start at the first row of a
/// run of consecutive rows, do not overlap, and are counted when they are full. One thread.
class RouteStatistics {
 public:
  explicit RouteStatistics(const format::RouteTraceHeader& header);

  void add(const format::RoutePass& pass);

  [[nodiscard]] uint64_t passes() const { return passes_; }
  [[nodiscard]] uint64_t prefill_rows() const { return prefill_rows_; }
  [[nodiscard]] uint64_t decode_rows() const { return decode_rows_; }
  /// Runs of consecutive rows.
  [[nodiscard]] uint64_t runs() const { return runs_; }

  /// Of the layer with this number in the model.
  [[nodiscard]] RouteFigures layer(uint32_t layer) const;
  /// Of all layers: sums of the counts, means of the shares.
  [[nodiscard]] RouteFigures overall() const;

 private:
  struct Union {
    std::vector<uint32_t> last_group;  // By expert: the group that it was last seen in.
    uint32_t group = 0;                // Counts from 1; that of the rows before the next.
    uint32_t distinct = 0;             // In the group so far.
    uint64_t groups = 0, experts = 0;  // Of full groups.
  };
  struct Layer {
    std::vector<uint64_t> counts;  // By expert.
    std::vector<uint16_t> previous;
    uint64_t followed_slots = 0, reused_slots = 0;
    std::array<Union, kUnionRows.size()> unions;
  };
  void add_row(Layer& layer, std::span<const uint16_t> experts, uint64_t row_of_run);

  const format::RouteTraceHeader header_;
  std::vector<Layer> layers_;
  uint64_t passes_ = 0, prefill_rows_ = 0, decode_rows_ = 0, runs_ = 0;
  format::RouteRow last_row_;
  std::vector<uint64_t> rows_of_run_;  // Of the pass being added: how many of its run come before.
  uint64_t run_length_ = 0;
};

}  // namespace sluice::stream
