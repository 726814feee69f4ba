#include "format/route_trace.h"

#include "base/check.h"
#include "base/crc32.h"
#include "base/error.h"
#include "format/plain_bytes.h"

#include <algorithm>
#include <cstring>

namespace sluice::format {
namespace {

constexpr uint32_t kTraceMagic = 0x54524C53;  // "SLRT"
constexpr uint32_t kPassMagic = 0x53534150;   // "PASS"
constexpr uint32_t kVersion = 1;
constexpr uint32_t kExpertsMax = 1u << 16;
constexpr uint32_t kLayersMax = 1u << 16;
// More than any pass has; it keeps sizes computed from a damaged head within 64 bits.
constexpr uint32_t kRowsMax = 1u << 24;

struct FileHeader {
  uint32_t magic, version, layers, first_moe_layer, experts, top_k;
  uint64_t fingerprint;
  uint32_t reserved, crc;  // Of all bytes before.
};
static_assert(sizeof(FileHeader) == kTraceHeaderBytes);

struct PassHead {
  uint32_t magic, rows;
  uint64_t number;
  uint32_t kind, reserved;
};
static_assert(sizeof(PassHead) == kPassHeadBytes);

struct FileRow {
  int32_t token;
  uint32_t sequence, position;
};
static_assert(sizeof(FileRow) == sizeof(RouteRow));

constexpr uint64_t kCrcBytes = sizeof(uint32_t);

/// The routes of one row in one layer: experts, then their weights.
struct LayerPart {
  uint64_t slots;  // rows * top_k
  [[nodiscard]] uint64_t expert_bytes() const { return slots * sizeof(uint16_t); }
  [[nodiscard]] uint64_t bytes() const { return expert_bytes() + slots * sizeof(float); }
};

/// Why a header cannot be; empty when it can.
const char* trouble_of(const RouteTraceHeader& h) {
  if (h.layers == 0 || h.layers > kLayersMax) return "its number of layers cannot be";
  if (h.first_moe_layer >= h.layers) return "none of its layers has experts";
  if (h.experts == 0 || h.experts > kExpertsMax) return "its number of experts cannot be";
  if (h.top_k == 0 || h.top_k > h.experts) return "a row cannot go to so many experts";
  return "";
}

void check_experts(const RouteTraceHeader& header, const RoutePass& pass, const std::string& path) {
  for (size_t i = 0; i < pass.experts.size(); ++i) {
    const bool follows = i % header.top_k != 0;
    if (pass.experts[i] < header.experts && (!follows || pass.experts[i - 1] < pass.experts[i])) {
      continue;
    }
    throw Error(ErrorCode::kCorrupt,
                "{}: pass {}: expert {} of layer {} is not below {} or not above the one before it",
                path, pass.number, pass.experts[i],
                header.first_moe_layer + i / (pass.rows.size() * header.top_k), header.experts);
  }
}

}  // namespace

uint64_t pass_bytes(const RouteTraceHeader& header, uint32_t rows) {
  const LayerPart part{uint64_t{rows} * header.top_k};
  return kPassHeadBytes + rows * sizeof(FileRow) + header.moe_layers() * part.bytes() + kCrcBytes;
}

std::vector<std::byte> encode_trace_header(const RouteTraceHeader& header) {
  FileHeader file{.magic = kTraceMagic,
                  .version = kVersion,
                  .layers = header.layers,
                  .first_moe_layer = header.first_moe_layer,
                  .experts = header.experts,
                  .top_k = header.top_k,
                  .fingerprint = header.fingerprint,
                  .reserved = 0,
                  .crc = 0};
  file.crc = crc32(std::as_bytes(std::span(&file, 1)).first(sizeof file - kCrcBytes));
  std::vector<std::byte> out;
  append(out, file);
  return out;
}

std::vector<std::byte> encode_pass(const RouteTraceHeader& header, const RoutePass& pass) {
  const LayerPart part{pass.rows.size() * header.top_k};
  SLUICE_CHECK(pass.experts.size() == header.moe_layers() * part.slots &&
               pass.weights.size() == pass.experts.size());
  const auto rows = static_cast<uint32_t>(pass.rows.size());
  std::vector<std::byte> out;
  out.reserve(pass_bytes(header, rows));
  append(out, PassHead{kPassMagic, rows, pass.number, static_cast<uint32_t>(pass.kind), 0});
  for (const RouteRow& row : pass.rows) {
    append(out, FileRow{row.token.value, row.sequence, row.position});
  }
  for (uint32_t layer = 0; layer < header.moe_layers(); ++layer) {
    const auto copy = [&](std::span<const std::byte> all) {
      const uint64_t bytes = all.size() / header.moe_layers();
      const auto of_layer = all.subspan(layer * bytes, bytes);
      out.insert(out.end(), of_layer.begin(), of_layer.end());
    };
    copy(std::as_bytes(std::span(pass.experts)));
    copy(std::as_bytes(std::span(pass.weights)));
  }
  append(out, crc32(out));
  return out;
}

RouteTraceHeader parse_trace_header(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < kTraceHeaderBytes || load<uint32_t>(bytes) != kTraceMagic) {
    throw Error(ErrorCode::kCorrupt,
                "{}: is not a route trace; give a file that eval --routes wrote", path);
  }
  const auto file = load<FileHeader>(bytes);
  if (file.version != kVersion) {
    throw Error(ErrorCode::kUnsupported,
                "{}: has format version {}, but this program reads {}; record the trace anew", path,
                file.version, kVersion);
  }
  const RouteTraceHeader header{.layers = file.layers,
                                .first_moe_layer = file.first_moe_layer,
                                .experts = file.experts,
                                .top_k = file.top_k,
                                .fingerprint = file.fingerprint};
  const bool whole =
      crc32(bytes.first(kTraceHeaderBytes - kCrcBytes)) == file.crc && file.reserved == 0;
  const std::string trouble = whole ? trouble_of(header) : "its check sum is another";
  if (!trouble.empty()) {
    throw Error(ErrorCode::kCorrupt, "{}: the header is damaged: {}; record the trace anew", path,
                trouble);
  }
  return header;
}

std::optional<uint64_t> parse_pass_head(const RouteTraceHeader& header,
                                        std::span<const std::byte> head) {
  SLUICE_CHECK(head.size() == kPassHeadBytes);
  const auto file = load<PassHead>(head);
  if (file.magic != kPassMagic || file.rows == 0 || file.rows > kRowsMax) return std::nullopt;
  return pass_bytes(header, file.rows);
}

bool parse_pass(const RouteTraceHeader& header, std::span<const std::byte> record,
                const std::string& path, RoutePass& pass) {
  const auto body = record.first(record.size() - kCrcBytes);
  if (crc32(body) != load<uint32_t>(record, body.size())) return false;
  const auto head = load<PassHead>(record);
  SLUICE_CHECK(record.size() == pass_bytes(header, head.rows));
  pass.number = head.number;
  pass.kind = static_cast<PassKind>(head.kind);
  if (head.kind > static_cast<uint32_t>(PassKind::kDecode) || head.reserved != 0) {
    throw Error(ErrorCode::kCorrupt,
                "{}: pass {}: is of kind {} with {} behind it, which this format does not have; "
                "record the trace anew",
                path, head.number, head.kind, head.reserved);
  }
  uint64_t at = kPassHeadBytes;
  pass.rows.clear();
  for (uint32_t row = 0; row < head.rows; ++row, at += sizeof(FileRow)) {
    const auto file = load<FileRow>(record, at);
    pass.rows.push_back({TokenId{file.token}, file.sequence, file.position});
  }
  const LayerPart part{uint64_t{head.rows} * header.top_k};
  pass.experts.resize(header.moe_layers() * part.slots);
  pass.weights.resize(pass.experts.size());
  for (uint64_t slot = 0; slot < pass.experts.size(); slot += part.slots, at += part.bytes()) {
    std::memcpy(&pass.experts[slot], record.data() + at, part.expert_bytes());
    std::memcpy(&pass.weights[slot], record.data() + at + part.expert_bytes(),
                part.bytes() - part.expert_bytes());
  }
  check_experts(header, pass, path);
  return true;
}

namespace {

RouteTraceHeader read_header(const io::InputFile& file) {
  std::vector<std::byte> bytes(std::min(file.bytes(), kTraceHeaderBytes));
  file.read(0, bytes);
  return parse_trace_header(bytes, file.path());
}

/// The header of a trace to write, when it can be written and continues no trace of another model.
const RouteTraceHeader& checked(const std::filesystem::path& path, const RouteTraceHeader& header,
                                const RouteTraceMark& mark) {
  if (const std::string trouble = trouble_of(header); !trouble.empty()) {
    throw Error(ErrorCode::kUnsupported, "{}: this model has no route trace: {}", path.string(),
                trouble);
  }
  if (mark.bytes > 0 && read_header(io::InputFile(path.string())) != header) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: is the trace of another model and cannot be continued; give another name",
                path.string());
  }
  return header;
}

}  // namespace

RouteTraceWriter::RouteTraceWriter(const std::filesystem::path& path,
                                   const RouteTraceHeader& header, RouteTraceMark mark)
    : header_(checked(path, header, mark)), passes_(mark.passes), file_(path, mark.bytes) {
  if (mark.bytes == 0) file_.append(encode_trace_header(header_));
}

void RouteTraceWriter::append(RoutePass& pass) {
  pass.number = passes_++;
  file_.append(encode_pass(header_, pass));
}

RouteTraceMark RouteTraceWriter::sync() { return {file_.sync(), passes_}; }

RouteTraceReader::RouteTraceReader(const std::filesystem::path& path)
    : file_(path.string()), header_(read_header(file_)) {}

bool RouteTraceReader::next(RoutePass& pass) {
  if (bytes_left_out() < kPassHeadBytes) return false;
  record_.resize(kPassHeadBytes);
  file_.read(at_, record_);
  const std::optional<uint64_t> bytes = parse_pass_head(header_, record_);
  if (!bytes || *bytes > bytes_left_out()) return false;
  record_.resize(*bytes);
  file_.read(at_, record_);
  if (!parse_pass(header_, record_, file_.path(), pass)) return false;
  at_ += *bytes;
  return true;
}

}  // namespace sluice::format
