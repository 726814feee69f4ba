#pragma once
#include "format/ids.h"
#include "format/json_reader.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::format {

/// Reads JSON whose objects have only known members, each once, and names members in errors as
/// `packs[3].file`. Throws Error that names the path and the member: kCorrupt with the remedy, and
/// kUnsupported for another version. One thread.
class MemberReader {
 public:
  struct Member {
    std::string_view name;
    bool required;
    std::function<void()> read;  ///< Reads the value.
  };

  MemberReader(std::string_view text, const std::string& path, std::string_view remedy)
      : json_(text, path, 0, remedy), path_(path), remedy_(remedy) {}

  void object(const std::vector<Member>& members);
  /// Calls `read` for each of at most `count_max` elements.
  void array(size_t count_max, const std::function<void()>& read);
  void skip() { json_.skip(); }
  [[nodiscard]] std::string text();
  [[nodiscard]] uint64_t number(uint64_t max = UINT64_MAX);
  [[nodiscard]] VolumeId volume_id();
  /// 16 digits.
  [[nodiscard]] uint64_t hexadecimal();
  /// A number that must be `known`.
  void version(uint64_t known);
  /// Bits that must all be among `known`.
  void required_features(uint64_t known);
  void finish() { json_.finish(); }

 private:
  [[noreturn]] void wrong(std::string_view why) const;
  void require(JsonReader::Kind kind, std::string_view what);

  JsonReader json_;
  const std::string& path_;
  const std::string_view remedy_;
  std::string at_;  // The member that is being read.
};

}  // namespace sluice::format
