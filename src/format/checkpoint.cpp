#include "format/checkpoint.h"

#include "base/digest.h"
#include "base/error.h"
#include "format/manifest.h"
#include "format/storage_reader.h"
#include "format/weight_index.h"
#include "io/input_file.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kConfigBytesMax = 16u << 20;
constexpr uint64_t kIndexBytesMax = 1u << 30;
constexpr const char* kIndexName = "model.safetensors.index.json";

std::string read_whole(const fs::path& path, uint64_t bytes_max) {
  const io::InputFile file(path.string());
  if (file.bytes() > bytes_max) {
    throw Error(ErrorCode::kCorrupt, "{}: has {} bytes; more than {} are refused", file.path(),
                file.bytes(), bytes_max);
  }
  std::string text(file.bytes(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

uint64_t hash_name(std::string_view name) { return std::hash<std::string_view>()(name); }

/// What the index says of one tensor, by the hash of its name: the names alone of the released
/// index take 40 MB.
struct IndexEntry {
  uint64_t hash = 0;
  uint32_t shard = 0;
  bool operator<(const IndexEntry& other) const { return hash < other.hash; }
};

struct Index {
  std::vector<std::string> shards;  // Sorted.
  std::vector<IndexEntry> entries;  // Sorted; without the vision part.
  std::optional<uint64_t> total_size;
};

Index read_index(const fs::path& path) {
  const std::string json = read_whole(path, kIndexBytesMax);
  Index index;
  std::unordered_map<std::string, uint32_t> seen;
  index.total_size =
      parse_index(json, path.string(), [&](std::string_view tensor, std::string_view shard) {
        const auto [at, added] =
            seen.try_emplace(std::string(shard), static_cast<uint32_t>(index.shards.size()));
        if (added) index.shards.emplace_back(shard);
        if (!is_vision_tensor(tensor)) index.entries.push_back({hash_name(tensor), at->second});
      });
  // Shards by name, so that file numbers do not depend on the order of the index.
  std::vector<std::string> sorted = index.shards;
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> place(sorted.size());
  for (size_t i = 0; i < place.size(); ++i) {
    place[i] = static_cast<uint32_t>(
        std::lower_bound(sorted.begin(), sorted.end(), index.shards[i]) - sorted.begin());
  }
  for (IndexEntry& entry : index.entries) entry.shard = place[entry.shard];
  index.shards = std::move(sorted);
  std::sort(index.entries.begin(), index.entries.end());
  const auto twice =
      std::adjacent_find(index.entries.begin(), index.entries.end(),
                         [](const IndexEntry& a, const IndexEntry& b) { return a.hash == b.hash; });
  if (twice != index.entries.end()) {
    parse_index(json, path.string(), [&](std::string_view tensor, std::string_view) {
      if (hash_name(tensor) == twice->hash) {
        throw Error(ErrorCode::kCorrupt, "{}: tensor {} stands in the index twice", path.string(),
                    tensor);
      }
    });
  }
  return index;
}

constexpr uint64_t kPrefixBytes = 8;  // In front of a header: its length.

/// The first bytes of a shard: the prefix and the JSON behind it.
std::vector<char> read_header(const Storage& storage, ShardId shard) {
  std::array<std::byte, kPrefixBytes> prefix{};
  const uint64_t bytes = storage.shards()[shard.value].bytes;
  StorageReader reader(storage);
  if (bytes >= prefix.size()) reader.read(shard, 0, prefix);
  const uint64_t length = header_length(prefix, bytes, storage.path(shard).string());
  std::vector<char> header(prefix.size() + length);
  reader.read(shard, 0, std::as_writable_bytes(std::span(header)));
  return header;
}

std::string_view json_of(const std::vector<char>& header) {
  return std::string_view(header.data(), header.size()).substr(kPrefixBytes);
}

uint64_t digest_text(uint64_t digest, std::string_view text) {
  return digest_of(digest, std::as_bytes(std::span(text)));
}

std::vector<std::string> names_of(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const ManifestShard& shard : manifest.shards) names.push_back(shard.name);
  return names;
}

std::vector<std::string> shards_without_index(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    // A leading dot marks what a Mac leaves beside a copied file.
    if (name.front() != '.' && name.ends_with(".safetensors")) names.push_back(name);
  }
  if (error) {
    throw Error(ErrorCode::kIo, "{}: cannot be listed: {}", folder.string(), error.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

struct Checkpoint::Impl {
  struct Entry {
    uint64_t hash = 0;
    TensorInfo info;
    bool operator<(const Entry& other) const { return hash < other.hash; }
  };

  fs::path folder;
  std::string config;
  std::optional<Storage> storage;
  std::vector<CheckpointFile> files;
  std::vector<Entry> tensors;  // Sorted by hash.
  uint64_t tensor_bytes = 0, digest = 0;

  void open(const fs::path& path, std::vector<fs::path> volumes) {
    folder = path;
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      throw Error(ErrorCode::kNotFound,
                  "{}: is not a folder; MODEL is the folder that holds config.json", path.string());
    }
    config = read_whole(folder / "config.json", kConfigBytesMax);
    digest = digest_text(digest, config);
    std::optional<Manifest> manifest = read_manifest(folder);
    const fs::path index_path = folder / kIndexName;
    std::optional<Index> index;
    if (fs::exists(index_path, error)) index = read_index(index_path);
    std::vector<std::string> shards = index      ? index->shards
                                      : manifest ? names_of(*manifest)
                                                 : shards_without_index(folder);
    if (shards.empty()) {
      throw Error(ErrorCode::kNotFound, "{}: holds neither {} nor any .safetensors file",
                  folder.string(), kIndexName);
    }
    if (shards.size() > UINT16_MAX) {
      throw Error(ErrorCode::kUnsupported, "{}: has {} shards; at most {} are supported",
                  folder.string(), shards.size(), UINT16_MAX);
    }
    storage.emplace(StorageOptions{.places = {folder, std::move(volumes)},
                                   .shards = std::move(shards),
                                   .manifest = std::move(manifest)});
    if (index) tensors.reserve(index->entries.size());
    read_headers(index ? &index->entries : nullptr);
    if (index) check_index(*index, index_path);
    check_model();
  }

  void check_model() const {
    const std::optional<Manifest>& manifest = storage->manifest();
    if (!manifest || manifest->model.value == digest) return;
    throw Error(ErrorCode::kCorrupt,
                "{}: is of model {}, but config.json and the headers of the shards are those of "
                "model {}; restore the config.json that was here when the model was packed",
                (folder / kManifestName).string(), to_text(manifest->model),
                to_text(ModelId{digest}));
  }

  void read_headers(const std::vector<IndexEntry>* index) {
    for (uint16_t s = 0; s < storage->shards().size(); ++s) read_shard({s}, index);
    std::sort(tensors.begin(), tensors.end());
    const auto twice =
        std::adjacent_find(tensors.begin(), tensors.end(),
                           [](const Entry& a, const Entry& b) { return a.hash == b.hash; });
    if (twice != tensors.end()) report_twice(twice[0], twice[1]);
  }

  void read_shard(ShardId id, const std::vector<IndexEntry>* index) {
    const StoredShard& shard = storage->shards()[id.value];
    files.push_back({storage->path(id), shard.bytes});
    const std::string path = files.back().path.string();
    const std::vector<char> header = read_header(*storage, id);
    storage->check_header(id, std::as_bytes(std::span(header)));
    const std::string_view json = json_of(header);
    digest = digest_of(digest_text(digest_text(digest, shard.name), json), shard.bytes);
    parse_header(json, shard.bytes, path, [&](const HeaderTensor& tensor) {
      const uint64_t hash = hash_name(tensor.name);
      if (index != nullptr) check_in_index(*index, hash, id, tensor.name, path);
      tensors.push_back({hash,
                         {.dtype = tensor.dtype,
                          .rank = tensor.rank,
                          .shape = tensor.shape,
                          .shard = id,
                          .offset = tensor.offset,
                          .bytes = tensor.bytes}});
    });
    tensor_bytes += shard.bytes - header.size();
  }

  void report_twice(const Entry& one, const Entry& other) const {
    visit_names(one.info.shard, [&](std::string_view name) {
      if (hash_name(name) == one.hash) {
        throw Error(ErrorCode::kCorrupt, "{}: tensor {} also stands in {}; remove one of the files",
                    files[one.info.shard.value].path.string(), name,
                    files[other.info.shard.value].path.string());
      }
    });
  }

  // Names are not kept, so the header is read once more.
  void visit_names(ShardId shard, const std::function<void(std::string_view)>& visit) const {
    const CheckpointFile& file = files[shard.value];
    const std::vector<char> header = read_header(*storage, shard);
    parse_header(json_of(header), file.bytes, file.path.string(),
                 [&](const HeaderTensor& tensor) { visit(tensor.name); });
  }

  static void check_in_index(const std::vector<IndexEntry>& index, uint64_t hash, ShardId shard,
                             std::string_view name, const std::string& path) {
    const auto entry = std::lower_bound(index.begin(), index.end(), IndexEntry{hash, 0});
    if (entry == index.end() || entry->hash != hash) {
      throw Error(ErrorCode::kCorrupt,
                  "{}: tensor {} is not in {}; shard and index are of different versions", path,
                  name, kIndexName);
    }
    if (entry->shard != shard.value) {
      throw Error(ErrorCode::kCorrupt, "{}: tensor {} should lie in another shard, says {}", path,
                  name, kIndexName);
    }
  }

  // Every text tensor of the index was found; every byte that it promises is there.
  void check_index(const Index& index, const fs::path& index_path) const {
    if (index.entries.size() != tensors.size()) report_missing(index_path);
    if (index.total_size && *index.total_size != tensor_bytes) {
      throw Error(ErrorCode::kCorrupt,
                  "{}: metadata.total_size is {}, but the shards hold {} bytes of tensors",
                  index_path.string(), *index.total_size, tensor_bytes);
    }
  }

  [[noreturn]] void report_missing(const fs::path& index_path) const {
    std::string missing;
    size_t count = 0;
    parse_index(read_whole(index_path, kIndexBytesMax), index_path.string(),
                [&](std::string_view tensor, std::string_view shard) {
                  if (is_vision_tensor(tensor) || lookup(tensor) != nullptr) return;
                  if (++count <= 6)
                    missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", tensor, shard);
                });
    throw Error(ErrorCode::kCorrupt, "{}: {} tensors are in no shard: {}{}", index_path.string(),
                count, missing, count > 6 ? ", ..." : "");
  }

  [[nodiscard]] const TensorInfo* lookup(std::string_view name) const {
    const uint64_t hash = hash_name(name);
    const auto entry = std::lower_bound(tensors.begin(), tensors.end(), hash,
                                        [](const Entry& e, uint64_t h) { return e.hash < h; });
    return entry != tensors.end() && entry->hash == hash ? &entry->info : nullptr;
  }
};

Checkpoint::Checkpoint(const fs::path& folder, std::vector<fs::path> volumes)
    : impl_(std::make_unique<Impl>()) {
  impl_->open(folder, std::move(volumes));
}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;

const fs::path& Checkpoint::folder() const { return impl_->folder; }
const std::string& Checkpoint::config_json() const { return impl_->config; }
std::span<const CheckpointFile> Checkpoint::files() const { return impl_->files; }
const Storage& Checkpoint::storage() const { return *impl_->storage; }
Storage& Checkpoint::storage() { return *impl_->storage; }
uint64_t Checkpoint::tensor_count() const { return impl_->tensors.size(); }
uint64_t Checkpoint::tensor_bytes() const { return impl_->tensor_bytes; }
uint64_t Checkpoint::digest() const { return impl_->digest; }
const TensorInfo* Checkpoint::find(std::string_view name) const { return impl_->lookup(name); }

void Checkpoint::visit_tensors(
    const std::function<void(std::string_view name, const TensorInfo&)>& visit) const {
  for (uint16_t s = 0; s < impl_->files.size(); ++s) {
    impl_->visit_names({s}, [&](std::string_view name) {
      const TensorInfo* const tensor = find(name);
      if (tensor == nullptr) {
        throw Error(ErrorCode::kIo, "{}: has changed since it was opened; start again",
                    impl_->files[s].path.string());
      }
      visit(name, *tensor);
    });
  }
}

const TensorInfo& Checkpoint::require(std::string_view name, DType dtype,
                                      std::initializer_list<uint64_t> shape) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) {
    throw Error(ErrorCode::kNotFound, "{}: tensor {} is missing; config.json asks for it",
                impl_->folder.string(), name);
  }
  const std::span<const uint32_t> stored = std::span(tensor->shape).first(tensor->rank);
  if (tensor->dtype != dtype ||
      !std::equal(stored.begin(), stored.end(), shape.begin(), shape.end())) {
    throw Error(ErrorCode::kCorrupt, "{}: tensor {} is {} [{}], but config.json asks for {} [{}]",
                impl_->files[tensor->shard.value].path.string(), name, dtype_name(tensor->dtype),
                fmt::join(stored, ", "), dtype_name(dtype), fmt::join(shape, ", "));
  }
  return *tensor;
}

std::vector<float> Checkpoint::read_floats(const TensorInfo& tensor) const {
  if (tensor.dtype == DType::kU8) {
    throw Error(ErrorCode::kCorrupt, "{}: the tensor at byte {} is U8, but floats are asked for",
                impl_->files[tensor.shard.value].path.string(), tensor.offset);
  }
  StorageReader reader(*impl_->storage);
  std::vector<float> values(tensor.bytes / dtype_bytes(tensor.dtype));
  if (tensor.dtype == DType::kF32) {
    reader.read(tensor.shard, tensor.offset, std::as_writable_bytes(std::span(values)));
    return values;
  }
  std::vector<uint16_t> halves(values.size());
  reader.read(tensor.shard, tensor.offset, std::as_writable_bytes(std::span(halves)));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t word = uint32_t{halves[i]} << 16;
    std::memcpy(&values[i], &word, sizeof word);
  }
  return values;
}

}  // namespace sluice::format
