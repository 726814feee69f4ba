#pragma once
#include "base/types.h"
#include "format/append_file.h"
#include "io/input_file.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::format {

/// A route trace: which experts each row of each pass went to, and with what weights.
/// docs/formats.md describes the file.

/// The first bytes of a trace: what model it is of.
struct RouteTraceHeader {
  uint32_t layers = 0;           ///< Of the model.
  uint32_t first_moe_layer = 0;  ///< This one and all that follow have routes.
  uint32_t experts = 0;          ///< Of one layer, at most 65,536.
  uint32_t top_k = 0;            ///< Experts of one row in one layer.
  uint64_t fingerprint = 0;      ///< Of the checkpoint.

  [[nodiscard]] uint32_t moe_layers() const { return layers - first_moe_layer; }
  friend bool operator==(const RouteTraceHeader&, const RouteTraceHeader&) = default;
};

enum class PassKind : uint32_t { kPrefill = 0, kDecode = 1 };

/// One token of one sequence.
struct RouteRow {
  TokenId token;
  uint32_t sequence = 0;  ///< Tells sequences of a trace apart.
  uint32_t position = 0;  ///< Of the token in its sequence.
  friend bool operator==(const RouteRow&, const RouteRow&) = default;
};

/// The routes of one pass.
struct RoutePass {
  uint64_t number = 0;  ///< Counts from 0 in the file.
  PassKind kind = PassKind::kPrefill;
  std::vector<RouteRow> rows{};
  std::vector<uint16_t> experts{};  ///< [moe_layers, rows, top_k], ascending in each row.
  std::vector<float> weights{};     ///< [moe_layers, rows, top_k], in the order of `experts`.
  friend bool operator==(const RoutePass&, const RoutePass&) = default;
};

inline constexpr uint64_t kTraceHeaderBytes = 40;
inline constexpr uint64_t kPassHeadBytes = 24;
/// Bytes of the record of a pass over `rows` rows.
[[nodiscard]] uint64_t pass_bytes(const RouteTraceHeader& header, uint32_t rows);

[[nodiscard]] std::vector<std::byte> encode_trace_header(const RouteTraceHeader& header);
[[nodiscard]] std::vector<std::byte> encode_pass(const RouteTraceHeader& header,
                                                 const RoutePass& pass);

/// Reads the header at the start of `bytes`. Throws Error that names `path`: kCorrupt when it is
/// none, kUnsupported for another version.
[[nodiscard]] RouteTraceHeader parse_trace_header(std::span<const std::byte> bytes,
                                                  const std::string& path);
/// The size of the record that starts with these kPassHeadBytes bytes; nothing when no record
/// does.
[[nodiscard]] std::optional<uint64_t> parse_pass_head(const RouteTraceHeader& header,
                                                      std::span<const std::byte> head);
/// Reads one record, of the size that parse_pass_head() gave. False when its check sum says that it
/// is not whole. Throws Error(kCorrupt) that names `path` when it is whole and cannot be of such a
/// model.
[[nodiscard]] bool parse_pass(const RouteTraceHeader& header, std::span<const std::byte> record,
                              const std::string& path, RoutePass& pass);

/// Where a trace can be continued.
struct RouteTraceMark {
  uint64_t bytes = 0, passes = 0;
  friend bool operator==(const RouteTraceMark&, const RouteTraceMark&) = default;
};

/// Writes a trace, a record at a time. What was appended survives the program.
class RouteTraceWriter {
 public:
  /// Starts a new trace, or continues one at a mark that sync() gave and cuts off what follows.
  /// Throws Error: kUnsupported when the model has more experts than a trace can number,
  /// kInvalidInput when the trace to continue is of another model, and as AppendFile does.
  RouteTraceWriter(const std::filesystem::path& path, const RouteTraceHeader& header,
                   RouteTraceMark mark = {});

  [[nodiscard]] const RouteTraceHeader& header() const { return header_; }
  /// Gives the pass its number and writes it.
  void append(RoutePass& pass);
  /// Brings everything to the disk.
  [[nodiscard]] RouteTraceMark sync();

 private:
  const RouteTraceHeader header_;
  uint64_t passes_ = 0;
  AppendFile file_;
};

/// Reads a trace front to back, holding one pass in memory.
class RouteTraceReader {
 public:
  /// Throws Error that names the path.
  explicit RouteTraceReader(const std::filesystem::path& path);

  [[nodiscard]] const RouteTraceHeader& header() const { return header_; }
  /// The next pass; false after the last record that is whole. Throws Error.
  [[nodiscard]] bool next(RoutePass& pass);
  /// Bytes at the end that are no whole record, once next() has returned false.
  [[nodiscard]] uint64_t bytes_left_out() const { return file_.bytes() - at_; }

 private:
  const io::InputFile file_;
  const RouteTraceHeader header_;
  uint64_t at_ = kTraceHeaderBytes;
  std::vector<std::byte> record_;
};

}  // namespace sluice::format
