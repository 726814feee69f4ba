#include "format/weight_index.h"

#include "format/damaged.h"
#include "format/file_name.h"
#include "format/json_reader.h"

namespace sluice::format {
namespace {

using Visit = std::function<void(std::string_view tensor, std::string_view shard)>;

void read_weight_map(JsonReader& json, const std::string& path, const Visit& visit) {
  if (json.peek() != JsonReader::Kind::kObject) {
    refuse_damaged(path, "weight_map is not an object");
  }
  json.enter_object();
  std::string tensor;
  while (const auto name = json.next_member()) {
    tensor = *name;
    if (json.peek() != JsonReader::Kind::kString) {
      refuse_damaged(path, fmt::format("the shard of tensor {} is not text", tensor));
    }
    const std::string_view shard = json.string();
    if (!is_plain_file_name(shard)) {
      refuse_damaged(path,
                     fmt::format("the shard of tensor {} is '{}', which is not a plain file name",
                                 tensor, shard));
    }
    visit(tensor, shard);
  }
}

std::optional<uint64_t> read_total_size(JsonReader& json, const std::string& path) {
  std::optional<uint64_t> total_size;
  if (json.peek() != JsonReader::Kind::kObject) {
    json.skip();
    return total_size;
  }
  json.enter_object();
  while (const auto name = json.next_member()) {
    if (*name != "total_size") {
      json.skip();
      continue;
    }
    if (json.peek() == JsonReader::Kind::kNumber) total_size = json.number();
    if (!total_size) {
      refuse_damaged(path, "metadata.total_size is not a whole number");
    }
  }
  return total_size;
}

}  // namespace

std::optional<uint64_t> parse_index(std::string_view text, const std::string& path,
                                    const Visit& visit) {
  JsonReader json(text, path);
  if (json.peek() != JsonReader::Kind::kObject) {
    refuse_damaged(path, "is not a JSON object");
  }
  std::optional<uint64_t> total_size;
  bool has_map = false;
  json.enter_object();
  while (const auto name = json.next_member()) {
    if (*name == "weight_map") {
      if (has_map) refuse_damaged(path, "has two weight_maps");
      has_map = true;
      read_weight_map(json, path, visit);
    } else if (*name == "metadata") {
      total_size = read_total_size(json, path);
    } else {
      json.skip();
    }
  }
  json.finish();
  if (!has_map) refuse_damaged(path, "has no weight_map");
  return total_size;
}

}  // namespace sluice::format
