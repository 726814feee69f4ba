#include "format/member_reader.h"

#include "base/error.h"
#include "format/damaged.h"

#include <algorithm>
#include <optional>

namespace sluice::format {

void MemberReader::wrong(std::string_view why) const {
  refuse_damaged(path_, fmt::format("{} {}", at_.empty() ? "the whole" : at_, why), remedy_);
}

void MemberReader::require(JsonReader::Kind kind, std::string_view what) {
  if (json_.peek() != kind) wrong(fmt::format("is not {}", what));
}

void MemberReader::object(const std::vector<Member>& members) {
  const std::string outside = at_, prefix = at_.empty() ? "" : at_ + ".";
  require(JsonReader::Kind::kObject, "an object");
  std::vector<bool> seen(members.size());
  json_.enter_object();
  while (const auto name = json_.next_member()) {
    at_ = prefix + std::string(*name);
    const auto member = std::ranges::find(members, *name, &Member::name);
    if (member == members.end()) wrong("is not known to this program");
    const auto number = static_cast<size_t>(member - members.begin());
    if (seen[number]) wrong("stands there twice (duplicate key)");
    seen[number] = true;
    member->read();
  }
  for (size_t i = 0; i < members.size(); ++i) {
    at_ = prefix + std::string(members[i].name);
    if (members[i].required && !seen[i]) wrong("is missing");
  }
  at_ = outside;
}

void MemberReader::array(size_t count_max, const std::function<void()>& read) {
  const std::string outside = at_;
  require(JsonReader::Kind::kArray, "a list");
  json_.enter_array();
  for (size_t i = 0; json_.next_element(); ++i) {
    if (i == count_max) wrong(fmt::format("is one more than the {} that can be", count_max));
    at_ = fmt::format("{}[{}]", outside, i);
    read();
  }
  at_ = outside;
}

std::string MemberReader::text() {
  require(JsonReader::Kind::kString, "text");
  return std::string(json_.string());
}

uint64_t MemberReader::number(uint64_t max) {
  require(JsonReader::Kind::kNumber, "a number");
  const std::optional<uint64_t> value = json_.number();
  if (!value || *value > max) wrong(fmt::format("is not a whole number of at most {}", max));
  return *value;
}

VolumeId MemberReader::volume_id() {
  const std::optional<VolumeId> id = parse_volume_id(text());
  if (!id) wrong("is not 32 lower-case hexadecimal digits");
  return *id;
}

uint64_t MemberReader::hexadecimal() {
  const std::optional<ModelId> id = parse_model_id(text());
  if (!id) wrong("is not 16 lower-case hexadecimal digits");
  return id->value;
}

void MemberReader::version(uint64_t known) {
  const uint64_t version = number();
  if (version == known) return;
  throw Error(ErrorCode::kUnsupported,
              "{}: {} is {}, but this program reads version {}; use a program of the other "
              "version",
              path_, at_, version, known);
}

void MemberReader::required_features(uint64_t known) {
  const uint64_t unknown = number() & ~known;
  if (unknown == 0) return;
  throw Error(ErrorCode::kUnsupported,
              "{}: {} asks for {:#x}, which this program does not know; use a newer one", path_,
              at_, unknown);
}

}  // namespace sluice::format
