#include "format/safetensors.h"

#include "base/check.h"
#include "base/error.h"
#include "format/damaged.h"
#include "format/json_reader.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

namespace sluice::format {
namespace {

constexpr uint64_t kPrefixBytes = 8;  // The length of the header.

struct KnownDType {
  std::string_view name;
  uint64_t bytes;
  std::optional<DType> ours;
};

// The dtypes of the format; those without a value of ours occur in no text tensor of K3.
constexpr KnownDType kDTypes[] = {
    {"BF16", 2, DType::kBF16}, {"F32", 4, DType::kF32},      {"U8", 1, DType::kU8},
    {"F16", 2, std::nullopt},  {"F64", 8, std::nullopt},     {"I64", 8, std::nullopt},
    {"I32", 4, std::nullopt},  {"I16", 2, std::nullopt},     {"I8", 1, std::nullopt},
    {"U64", 8, std::nullopt},  {"U32", 4, std::nullopt},     {"U16", 2, std::nullopt},
    {"BOOL", 1, std::nullopt}, {"F8_E4M3", 1, std::nullopt}, {"F8_E5M2", 1, std::nullopt}};

/// Bytes of the file that a tensor covers.
struct Span {
  uint64_t begin, end;
  std::string name;
};

/// One member of the header, while it is read.
struct Entry {
  std::string name, dtype;
  std::vector<uint64_t> shape, offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

class HeaderParser {
 public:
  HeaderParser(std::string_view json, uint64_t file_bytes, const std::string& path)
      : json_(json, path, kPrefixBytes),
        data_begin_(kPrefixBytes + json.size()),
        file_bytes_(file_bytes),
        path_(path) {}

  void parse(const std::function<void(const HeaderTensor&)>& visit) {
    if (json_.peek() != JsonReader::Kind::kObject) {
      refuse_damaged(path_, "the header is not a JSON object");
    }
    json_.enter_object();
    while (const auto name = json_.next_member()) {
      if (!names_.emplace(*name).second) {
        refuse_damaged(path_, fmt::format("{} stands in the header twice (duplicate key)", *name));
      }
      if (*name == "__metadata__") {
        json_.skip();
      } else {
        read_entry(*name);
        finish_entry(visit);
      }
    }
    json_.finish();
    check_coverage();
  }

 private:
  static constexpr size_t kRankMax = 4;

  [[noreturn]] void wrong(std::string_view why) const {
    refuse_damaged(path_, fmt::format("tensor {} {}", entry_.name, why));
  }

  void read_entry(std::string_view name) {
    entry_.name = name;
    entry_.has_dtype = entry_.has_shape = entry_.has_offsets = false;
    if (json_.peek() != JsonReader::Kind::kObject)
      wrong("is described by something else than an object");
    json_.enter_object();
    while (const auto field = json_.next_member()) {
      if (*field == "dtype") {
        once(entry_.has_dtype, "dtype");
        if (json_.peek() != JsonReader::Kind::kString) wrong("has a dtype that is not text");
        entry_.dtype = json_.string();
      } else if (*field == "shape") {
        once(entry_.has_shape, "shape");
        read_numbers("shape", kRankMax, entry_.shape);
      } else if (*field == "data_offsets") {
        once(entry_.has_offsets, "data_offsets");
        read_numbers("data_offsets", 2, entry_.offsets);
        if (entry_.offsets.size() != 2) wrong("has data_offsets that are not two numbers");
      } else {
        json_.skip();
      }
    }
    if (!entry_.has_dtype || !entry_.has_shape || !entry_.has_offsets) {
      wrong("lacks dtype, shape or data_offsets");
    }
  }

  void once(bool& seen, std::string_view field) const {
    if (seen) wrong(fmt::format("has the duplicate field {}", field));
    seen = true;
  }

  void read_numbers(std::string_view field, size_t count_max, std::vector<uint64_t>& out) {
    out.clear();
    if (json_.peek() != JsonReader::Kind::kArray)
      wrong(fmt::format("has a {} that is no list", field));
    json_.enter_array();
    while (json_.next_element()) {
      const std::optional<uint64_t> number =
          json_.peek() == JsonReader::Kind::kNumber ? json_.number() : std::nullopt;
      if (!number) wrong(fmt::format("has a {} with an entry that is no whole number", field));
      if (out.size() == count_max) {
        wrong(fmt::format("has a {} with more than {} entries", field, count_max));
      }
      out.push_back(*number);
    }
  }

  // The size that shape and dtype ask for; nothing when it does not fit 64 bits.
  [[nodiscard]] std::optional<uint64_t> expected_bytes(uint64_t element) const {
    uint64_t bytes = element;
    for (const uint64_t extent : entry_.shape) {
      if (extent > UINT32_MAX) return std::nullopt;
      if (extent != 0 && bytes > UINT64_MAX / extent) return std::nullopt;
      bytes *= extent;
    }
    return bytes;
  }

  void finish_entry(const std::function<void(const HeaderTensor&)>& visit) {
    const uint64_t data_bytes = file_bytes_ - data_begin_;
    const uint64_t begin = entry_.offsets[0], end = entry_.offsets[1];
    if (begin > end || end > data_bytes) {
      wrong(fmt::format(
          "has data_offsets [{}, {}], but the file has {} bytes of data: it is cut off or damaged",
          begin, end, data_bytes));
    }
    const auto known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                    [&](const KnownDType& d) { return d.name == entry_.dtype; });
    if (known == std::end(kDTypes)) wrong("has the unknown dtype " + entry_.dtype);
    const std::optional<uint64_t> expected = expected_bytes(known->bytes);
    if (expected != end - begin) {
      wrong(fmt::format("has {} bytes, but its shape [{}] and dtype {} ask for {}", end - begin,
                        fmt::join(entry_.shape, ", "), entry_.dtype,
                        expected ? std::to_string(*expected) : "more than any file holds"));
    }
    if (begin != end) spans_.push_back({data_begin_ + begin, data_begin_ + end, entry_.name});
    if (is_vision_tensor(entry_.name)) return;
    if (!known->ours) {
      throw Error(ErrorCode::kUnsupported,
                  "{}: tensor {} has dtype {}, but K3's text tensors are BF16, F32 or U8; use the "
                  "released checkpoint",
                  path_, entry_.name, entry_.dtype);
    }
    HeaderTensor tensor{.name = entry_.name,
                        .dtype = *known->ours,
                        .rank = static_cast<uint8_t>(entry_.shape.size()),
                        .shape = {},
                        .offset = data_begin_ + begin,
                        .bytes = end - begin};
    std::copy(entry_.shape.begin(), entry_.shape.end(), tensor.shape.begin());
    visit(tensor);
  }

  // The tensors must tile the data exactly.
  void check_coverage() {
    std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t at = data_begin_;
    for (const Span& span : spans_) {
      if (span.begin > at) {
        refuse_damaged(path_, fmt::format("{} bytes before tensor {} belong to no tensor",
                                          span.begin - at, span.name));
      }
      if (span.begin < at) {
        refuse_damaged(path_, fmt::format("tensor {} overlaps the one before it by {} bytes",
                                          span.name, at - span.begin));
      }
      at = span.end;
    }
    if (at != file_bytes_) {
      refuse_damaged(path_, fmt::format("the last {} bytes belong to no tensor", file_bytes_ - at));
    }
  }

  JsonReader json_;
  const uint64_t data_begin_, file_bytes_;
  const std::string& path_;
  Entry entry_;
  std::unordered_set<std::string> names_;
  std::vector<Span> spans_;
};

}  // namespace

std::string_view dtype_name(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].name; }

uint64_t dtype_bytes(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].bytes; }

bool is_vision_tensor(std::string_view name) {
  return name.starts_with("vision_tower.") || name.starts_with("mm_projector.");
}

uint64_t header_length(std::span<const std::byte> prefix, uint64_t file_bytes,
                       const std::string& path) {
  if (file_bytes < kPrefixBytes || prefix.size() < kPrefixBytes) {
    refuse_damaged(path, fmt::format("has {} bytes and so no safetensors header", file_bytes));
  }
  uint64_t length = 0;
  for (size_t i = kPrefixBytes; i-- > 0;) length = length << 8 | static_cast<uint64_t>(prefix[i]);
  if (length > file_bytes - kPrefixBytes) {
    refuse_damaged(path, fmt::format("the header claims {} bytes, but the file has {}: it is cut "
                                     "off or damaged",
                                     length, file_bytes));
  }
  if (length > kHeaderBytesMax) {
    refuse_damaged(path, fmt::format("the header claims {} bytes, but more than {} are refused",
                                     length, kHeaderBytesMax));
  }
  return length;
}

void parse_header(std::string_view json, uint64_t file_bytes, const std::string& path,
                  const std::function<void(const HeaderTensor&)>& visit) {
  SLUICE_CHECK(file_bytes >= kPrefixBytes && json.size() <= file_bytes - kPrefixBytes);
  HeaderParser(json, file_bytes, path).parse(visit);
}

}  // namespace sluice::format
