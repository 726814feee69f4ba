#include "text/arguments_writer.h"

#include "text/json_value.h"

namespace sluice::text {

std::string ArgumentsWriter::member(std::string_view key) {
  std::string out = written_ ? "," : "{";
  written_ = true;
  append_json_string(key, out);
  out += ':';
  return out;
}

std::string ArgumentsWriter::open_argument(std::string_view key, std::string_view type) {
  std::string out = close_value();
  if (is_whole_ || !keys_.emplace(key).second) return out;
  if (type == "string") {
    value_ = Value::kString;
    out += member(key) + '"';
  } else {
    value_ = Value::kBuffered;
    key_ = key;
    buffered_.clear();
  }
  return out;
}

std::string ArgumentsWriter::open_json() {
  std::string out = close_value();
  if (is_whole_ || !keys_.empty()) return out;
  is_whole_ = true;
  value_ = Value::kWhole;
  return out;
}

std::string ArgumentsWriter::push(std::string_view text) {
  switch (value_) {
    case Value::kNone:
      return {};
    case Value::kString: {
      std::string out;
      append_json_escaped(text, out);
      return out;
    }
    case Value::kBuffered:
      buffered_ += text;
      return {};
    case Value::kWhole:
      written_ = written_ || !text.empty();
      return std::string(text);
  }
  return {};
}

std::string ArgumentsWriter::close_value() {
  std::string out;
  if (value_ == Value::kString) out = '"';
  if (value_ == Value::kBuffered) {
    out = member(key_);
    if (parse_json(buffered_).value) {
      out += buffered_;
    } else {
      append_json_string(buffered_, out);
    }
  }
  value_ = Value::kNone;
  return out;
}

std::string ArgumentsWriter::cut_value() {
  if (value_ == Value::kBuffered) value_ = Value::kNone;
  return close_value();
}

std::string ArgumentsWriter::end() const {
  if (!written_) return "{}";
  return is_whole_ ? "" : "}";
}

}  // namespace sluice::text
