#include "format/weight_index.h"

#include "base/error.h"

#include <nlohmann/json.hpp>

namespace sluice::format {
namespace {

// Events instead of a tree: the released index has 60 MB and half a million entries.
class IndexReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  IndexReader(const std::string& path,
              const std::function<void(std::string_view, std::string_view)>& visit)
      : path_(path), visit_(visit) {}

  [[nodiscard]] std::optional<uint64_t> total_size() const { return total_size_; }
  [[nodiscard]] bool saw_map() const { return saw_map_; }

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 2 && section_ == "weight_map") {
      if (saw_map_) throw Error(ErrorCode::kCorrupt, "{}: has two weight_map objects", path_);
      saw_map_ = true;
    }
    return depth_ <= 2 || section_ != "weight_map" ? true : wrong("is not a file name");
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) throw Error(ErrorCode::kCorrupt, "{}: is a list, not an index object", path_);
    if (in_map()) return wrong("is not a file name");
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& key) override {
    if (depth_ == 1) section_ = key;
    if (depth_ == 2) name_ = key;
    return true;
  }
  bool string(string_t& value) override {
    if (!in_map()) return true;
    if (value.empty() || value.front() == '.' || value.find_first_of("/\\") != std::string::npos ||
        value.find('\0') != std::string::npos) {
      return wrong(fmt::format("is said to lie in '{}', which is not a plain file name", value));
    }
    visit_(name_, value);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 2 && section_ == "metadata" && name_ == "total_size") total_size_ = value;
    return scalar();
  }
  bool null() override { return scalar(); }
  bool boolean(bool) override { return scalar(); }
  bool number_integer(number_integer_t) override { return scalar(); }
  bool number_float(number_float_t, const string_t&) override { return scalar(); }
  bool binary(binary_t&) override { return scalar(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    throw Error(ErrorCode::kCorrupt, "{}: is not valid JSON near byte {}; fetch the file anew",
                path_, position);
  }

 private:
  [[nodiscard]] bool in_map() const { return depth_ == 2 && section_ == "weight_map"; }
  bool scalar() { return in_map() ? wrong("is not a file name") : true; }
  bool wrong(const std::string& why) const {
    throw Error(ErrorCode::kCorrupt, "{}: the entry of tensor {} {}", path_, name_, why);
  }

  const std::string& path_;
  const std::function<void(std::string_view, std::string_view)>& visit_;
  size_t depth_ = 0;
  bool saw_map_ = false;
  std::string section_, name_;
  std::optional<uint64_t> total_size_;
};

}  // namespace

std::optional<uint64_t> parse_index(
    std::string_view json, const std::string& path,
    const std::function<void(std::string_view, std::string_view)>& visit) {
  IndexReader reader(path, visit);
  nlohmann::json::sax_parse(json, &reader);
  if (!reader.saw_map()) throw Error(ErrorCode::kCorrupt, "{}: has no weight_map", path);
  return reader.total_size();
}

}  // namespace sluice::format
