#include "model/sequence_state.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/error.h"
#include "format/output_file.h"
#include "io/input_file.h"

#include <algorithm>
#include <span>

namespace sluice::model {
namespace {

constexpr char kMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'S', 'T'};
constexpr uint32_t kVersion = 2;

size_t bytes_of(backend::Tensor tensor) { return tensor.size() * tensor.element_bytes; }

// In pieces of some megabytes: a whole tensor may be a large share of the memory.
template <class Body>
void for_each_piece(const std::vector<backend::Tensor>& tensors, Body body) {
  constexpr uint64_t kPieceBytes = 4u << 20;
  for (const backend::Tensor tensor : tensors) {
    const uint64_t row_bytes = uint64_t{tensor.cols} * tensor.element_bytes;
    const auto rows = static_cast<uint32_t>(std::max<uint64_t>(1, kPieceBytes / row_bytes));
    for (uint32_t first = 0; first < tensor.rows; first += rows) {
      body(tensor.slice(first, std::min(rows, tensor.rows - first)));
    }
  }
}

uint64_t mla_layers(const ModelShape& shape) {
  return static_cast<uint64_t>(std::count(shape.is_mla.begin(), shape.is_mla.end(), true));
}

}  // namespace

/// The start of a saved state: everything that must agree before its numbers mean anything.
struct SequenceState::Header {
  char magic[8];
  uint32_t version, length;
  uint64_t fingerprint;
  uint32_t element_bytes;
  float mla_norm_epsilon;
  uint64_t payload_bytes, payload_digest;
};

SequenceState::SequenceState(const ModelShape& shape, backend::Backend& backend, uint32_t context,
                             uint64_t fingerprint)
    : shape_(shape),
      backend_(backend),
      context_(context),
      fingerprint_(fingerprint),
      slot_of_(shape.layers) {
  SLUICE_CHECK(context >= 1);
  const uint32_t width = shape.kda_width();
  for (uint32_t l = 0; l < shape.layers; ++l) {
    slot_of_[l] = static_cast<uint32_t>(shape.is_mla[l] ? mla_.size() : kda_.size());
    if (shape.is_mla[l]) {
      mla_.push_back({backend.allocate(context, shape.cache_width())});
    } else {
      const auto history = [&] { return backend.allocate(shape.conv_width - 1, width); };
      kda_.push_back(
          {backend.allocate(width, shape.kda_head_dim), history(), history(), history()});
    }
  }
}

SequenceState::~SequenceState() {
  for (const backend::Tensor tensor : recurrent_tensors()) backend_.release(tensor);
  for (const Mla& mla : mla_) backend_.release(mla.cache);
}

uint64_t SequenceState::bytes(const ModelShape& shape, uint32_t element_bytes, uint32_t context) {
  return point_bytes(shape, element_bytes) +
         element_bytes * mla_layers(shape) * context * shape.cache_width();
}

uint64_t SequenceState::point_bytes(const ModelShape& shape, uint32_t element_bytes) {
  const uint64_t kda =
      uint64_t{shape.kda_width()} * (shape.kda_head_dim + 3 * (shape.conv_width - 1));
  return element_bytes * (shape.layers - mla_layers(shape)) * kda;
}

std::vector<backend::Tensor> SequenceState::recurrent_tensors() const {
  std::vector<backend::Tensor> tensors;
  for (const Kda& kda : kda_) {
    tensors.insert(tensors.end(), {kda.state, kda.q_history, kda.k_history, kda.v_history});
  }
  return tensors;
}

uint64_t SequenceState::recurrent_bytes() const {
  uint64_t bytes = 0;
  for (const backend::Tensor tensor : recurrent_tensors()) bytes += bytes_of(tensor);
  return bytes;
}

void SequenceState::copy_recurrent_to(std::byte* to) const {
  for (const backend::Tensor tensor : recurrent_tensors()) {
    const size_t bytes = bytes_of(tensor);
    backend_.download_raw(tensor, {to, bytes});
    to += bytes;
  }
}

void SequenceState::copy_recurrent_from(const std::byte* from) {
  for (const backend::Tensor tensor : recurrent_tensors()) {
    const size_t bytes = bytes_of(tensor);
    backend_.upload_raw({from, bytes}, tensor);
    from += bytes;
  }
}

void SequenceState::clear() {
  for (const backend::Tensor tensor : recurrent_tensors()) backend_.zero(tensor);
  length_ = 0;
  interrupted_ = false;
}

SequenceState::SavedPoint SequenceState::save_point() const {
  SavedPoint point;
  point.length_ = length_;
  point.recurrent_.resize(recurrent_bytes());
  copy_recurrent_to(point.recurrent_.data());
  return point;
}

void SequenceState::cut(const SavedPoint& point) {
  SLUICE_CHECK(point.length_ <= length_ && point.recurrent_.size() == recurrent_bytes());
  copy_recurrent_from(point.recurrent_.data());
  length_ = point.length_;
  interrupted_ = false;
}

void SequenceState::copy_from(const SequenceState& other, const SavedPoint& point) {
  SLUICE_CHECK(point.length_ <= other.length_ && other.fingerprint_ == fingerprint_ &&
               other.context_ == context_ && point.recurrent_.size() == recurrent_bytes());
  for (size_t i = 0; i < mla_.size(); ++i) {
    backend_.copy(other.mla_[i].cache.slice(0, point.length_),
                  mla_[i].cache.slice(0, point.length_));
  }
  copy_recurrent_from(point.recurrent_.data());
  length_ = point.length_;
  interrupted_ = false;
}

void SequenceState::advance(uint32_t rows) {
  SLUICE_CHECK(rows <= context_ - length_);
  length_ += rows;
  interrupted_ = false;
}

SequenceState::Header SequenceState::header() const {
  Header header{};
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  header.version = kVersion;
  header.length = length_;
  header.fingerprint = fingerprint_;
  header.element_bytes = static_cast<uint32_t>(backend_.element_bytes());
  header.mla_norm_epsilon = shape_.mla_norm_epsilon;
  return header;
}

void SequenceState::check(const Header& header, const std::string& path) const {
  if (!std::equal(std::begin(kMagic), std::end(kMagic), header.magic)) {
    throw Error(ErrorCode::kCorrupt, "{}: is not a saved sequence state", path);
  }
  if (header.version != kVersion) {
    throw Error(ErrorCode::kUnsupported,
                "{}: has format version {}, but this program reads {}; save the state anew", path,
                header.version, kVersion);
  }
  if (header.fingerprint != fingerprint_) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: was saved from another checkpoint; give the model that it comes from, or run "
                "its prompt again with this one",
                path);
  }
  if (header.element_bytes != backend_.element_bytes()) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: was saved by another backend, with {} bytes a number instead of {}; give the "
                "same --backend",
                path, header.element_bytes, backend_.element_bytes());
  }
  if (header.mla_norm_epsilon != shape_.mla_norm_epsilon) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: was saved with --mla-norm-eps {}, but now it is {}; give the same", path,
                header.mla_norm_epsilon, shape_.mla_norm_epsilon);
  }
  if (header.length > context_) {
    throw Error(ErrorCode::kOutOfMemory,
                "{}: holds {} tokens, but the context has room for {}; raise --context", path,
                header.length, context_);
  }
}

std::vector<backend::Tensor> SequenceState::tensors(uint32_t length) const {
  std::vector<backend::Tensor> all = recurrent_tensors();
  for (const Mla& mla : mla_) all.push_back(mla.cache.slice(0, length));
  return all;
}

void SequenceState::save(const std::filesystem::path& path) const {
  if (interrupted_) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: the sequence was interrupted in the middle of a pass and cannot be saved",
                path.string());
  }
  Header header = this->header();
  format::OutputFile out(path);
  out.write(std::as_bytes(std::span(&header, 1)));
  std::vector<std::byte> bytes;
  for_each_piece(tensors(length_), [&](backend::Tensor piece) {
    bytes.resize(bytes_of(piece));
    backend_.download_raw(piece, bytes);
    header.payload_bytes += bytes.size();
    header.payload_digest = digest_of(header.payload_digest, bytes);
    out.write(bytes);
  });
  out.write_at(0, {reinterpret_cast<const char*>(&header), sizeof header});
  out.commit();
}

void SequenceState::load(const std::filesystem::path& path) {
  const io::InputFile in(path.string());
  Header header{};
  if (in.bytes() >= sizeof header) in.read(0, std::as_writable_bytes(std::span(&header, 1)));
  check(header, in.path());
  const std::vector<backend::Tensor> all = tensors(header.length);
  uint64_t expected = 0;
  for (const backend::Tensor tensor : all) expected += bytes_of(tensor);
  if (header.payload_bytes != expected || in.bytes() != expected + sizeof header) {
    throw Error(ErrorCode::kCorrupt, "{}: has the wrong size: it is damaged or was cut off",
                in.path());
  }
  interrupted_ = true;
  uint64_t digest = 0, at = sizeof header;
  std::vector<std::byte> bytes;
  for_each_piece(all, [&](backend::Tensor piece) {
    bytes.resize(bytes_of(piece));
    in.read(at, bytes);
    at += bytes.size();
    digest = digest_of(digest, bytes);
    backend_.upload_raw(bytes, piece);
  });
  if (digest != header.payload_digest) {
    throw Error(ErrorCode::kCorrupt, "{}: is damaged: its contents do not match their digest",
                in.path());
  }
  length_ = header.length;
  interrupted_ = false;
}

}  // namespace sluice::model
