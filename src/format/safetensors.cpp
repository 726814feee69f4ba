#include "format/safetensors.h"

#include "base/error.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

namespace sluice::format {
namespace {

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

/// Receives the events of the JSON parser and keeps one tensor at a time, so that a header of
/// hundreds of thousands of tensors needs no tree of its own.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(uint64_t data_begin, uint64_t file_bytes, const std::string& path,
               const std::function<void(const HeaderTensor&)>& visit)
      : data_begin_(data_begin), file_bytes_(file_bytes), path_(path), visit_(visit) {}

  bool start_object(std::size_t) override {
    if (depth_ == 0) {
      depth_ = 1;
      return true;
    }
    if (depth_ == 1) {
      depth_ = 2;
      has_dtype_ = has_shape_ = has_offsets_ = false;
      return true;
    }
    if (in_metadata()) return deeper();
    return wrong("holds an object where none belongs");
  }

  bool end_object() override {
    if (depth_ > 2) return shallower();
    if (depth_ == 2 && !in_metadata()) finish_tensor();
    --depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ == 0)
      throw Error(ErrorCode::kCorrupt, "{}: the header is a list, not a JSON object", path_);
    if (in_metadata()) return deeper();
    if (depth_ != 2 || (field_ != "shape" && field_ != "data_offsets") || in_list_) {
      return wrong("holds a list where none belongs");
    }
    in_list_ = true;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    if (in_metadata()) return shallower();
    in_list_ = false;
    if (field_ == "shape") {
      shape_ = numbers_;
      has_shape_ = true;
    } else {
      if (numbers_.size() != 2) return wrong("has data_offsets that are not two numbers");
      offsets_ = {numbers_[0], numbers_[1]};
      has_offsets_ = true;
    }
    return true;
  }

  bool key(string_t& key) override {
    if (depth_ == 1) {
      name_ = key;
      if (!names_.insert(name_).second) {
        throw Error(ErrorCode::kCorrupt, "{}: tensor {} stands in the header twice (duplicate key)",
                    path_, name_);
      }
    } else if (depth_ == 2) {
      const bool seen = (key == "dtype" && has_dtype_) || (key == "shape" && has_shape_) ||
                        (key == "data_offsets" && has_offsets_);
      field_ = key;
      if (seen && !in_metadata()) return wrong("has the duplicate field " + key);
    }
    return true;
  }

  bool string(string_t& value) override {
    if (in_metadata()) return true;
    if (depth_ != 2 || field_ != "dtype" || in_list_) return wrong("holds text where none belongs");
    dtype_ = value;
    has_dtype_ = true;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (in_metadata()) return true;
    if (!in_list_) return wrong("holds a number where none belongs");
    if (numbers_.size() >= kRankMax) return wrong("has more than four dimensions");
    numbers_.push_back(value);
    return true;
  }

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool binary(binary_t&) override { return other(); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    throw Error(ErrorCode::kCorrupt,
                "{}: the header is not valid JSON near byte {}; fetch the file anew", path_,
                8 + position);
  }

  /// After the last event: the tensors must tile the data exactly.
  void check_coverage() {
    std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t at = data_begin_;
    for (const Span& span : spans_) {
      if (span.begin > at) {
        throw Error(ErrorCode::kCorrupt, "{}: {} bytes before tensor {} belong to no tensor", path_,
                    span.begin - at, span.name);
      }
      if (span.begin < at) {
        throw Error(ErrorCode::kCorrupt, "{}: tensor {} overlaps the one before it by {} bytes",
                    path_, span.name, at - span.begin);
      }
      at = span.end;
    }
    if (at != file_bytes_) {
      throw Error(ErrorCode::kCorrupt, "{}: the last {} bytes belong to no tensor", path_,
                  file_bytes_ - at);
    }
  }

 private:
  static constexpr size_t kRankMax = 4;

  [[nodiscard]] bool in_metadata() const { return depth_ >= 2 && name_ == "__metadata__"; }
  bool deeper() {
    ++depth_;
    return true;
  }
  bool shallower() {
    --depth_;
    return true;
  }
  bool other() { return in_metadata() ? true : wrong("holds a value where none belongs"); }

  bool wrong(const std::string& why) const {
    if (name_.empty())
      throw Error(ErrorCode::kCorrupt, "{}: the header is not a JSON object of tensors", path_);
    throw Error(ErrorCode::kCorrupt, "{}: tensor {} {}", path_, name_, why);
  }

  // The size that shape and dtype ask for; nothing when it does not fit 64 bits.
  [[nodiscard]] std::optional<uint64_t> expected_bytes(uint64_t element) const {
    uint64_t bytes = element;
    for (const uint64_t extent : shape_) {
      if (extent > UINT32_MAX) return std::nullopt;
      if (extent != 0 && bytes > UINT64_MAX / extent) return std::nullopt;
      bytes *= extent;
    }
    return bytes;
  }

  void finish_tensor() {
    if (!has_dtype_ || !has_shape_ || !has_offsets_) {
      wrong("lacks dtype, shape or data_offsets");
    }
    const uint64_t data_bytes = file_bytes_ - data_begin_;
    if (offsets_[0] > offsets_[1] || offsets_[1] > data_bytes) {
      wrong(fmt::format(
          "has data_offsets [{}, {}], but the file has {} bytes of data; it is cut off or damaged",
          offsets_[0], offsets_[1], data_bytes));
    }
    const auto known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                    [&](const KnownDType& d) { return d.name == dtype_; });
    if (known == std::end(kDTypes)) wrong("has the unknown dtype " + dtype_);
    const std::optional<uint64_t> expected = expected_bytes(known->bytes);
    if (expected != offsets_[1] - offsets_[0]) {
      wrong(fmt::format("has {} bytes, but its shape and dtype {} ask for {}",
                        offsets_[1] - offsets_[0], dtype_,
                        expected ? std::to_string(*expected) : "more than any file holds"));
    }
    if (offsets_[0] != offsets_[1]) {
      spans_.push_back({data_begin_ + offsets_[0], data_begin_ + offsets_[1], name_});
    }
    if (is_vision_tensor(name_)) return;
    if (!known->ours) {
      throw Error(ErrorCode::kUnsupported,
                  "{}: tensor {} has dtype {}; K3's text tensors are BF16, F32 or U8", path_, name_,
                  dtype_);
    }
    HeaderTensor tensor{.name = name_,
                        .dtype = *known->ours,
                        .rank = static_cast<uint8_t>(shape_.size()),
                        .shape = {},
                        .offset = data_begin_ + offsets_[0],
                        .bytes = *expected};
    std::copy(shape_.begin(), shape_.end(), tensor.shape.begin());
    visit_(tensor);
  }

  const uint64_t data_begin_, file_bytes_;
  const std::string& path_;
  const std::function<void(const HeaderTensor&)>& visit_;
  size_t depth_ = 0;
  bool in_list_ = false, has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  std::string name_, field_, dtype_;
  std::vector<uint64_t> numbers_, shape_;
  std::array<uint64_t, 2> offsets_{};
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
  if (file_bytes < 8 || prefix.size() < 8) {
    throw Error(ErrorCode::kCorrupt,
                "{}: has {} bytes and so no safetensors header; fetch the file anew", path,
                file_bytes);
  }
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<uint64_t>(prefix[i]);
  if (length > file_bytes - 8) {
    throw Error(ErrorCode::kCorrupt,
                "{}: the header claims {} bytes, but the file has {}; it is cut off or damaged",
                path, length, file_bytes);
  }
  if (length > kHeaderBytesMax) {
    throw Error(ErrorCode::kCorrupt, "{}: the header claims {} bytes; more than {} are refused",
                path, length, kHeaderBytesMax);
  }
  return length;
}

void parse_header(std::string_view json, uint64_t file_bytes, const std::string& path,
                  const std::function<void(const HeaderTensor&)>& visit) {
  HeaderReader reader(8 + json.size(), file_bytes, path, visit);
  nlohmann::json::sax_parse(json, &reader);
  reader.check_coverage();
}

}  // namespace sluice::format
