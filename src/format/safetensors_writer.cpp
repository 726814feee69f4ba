#include "format/safetensors_writer.h"

#include "base/check.h"
#include "base/error.h"

#include <nlohmann/json.hpp>

namespace sluice::format {

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(path_.string() + ".tmp"),
      out_(temporary_, std::ios::binary | std::ios::trunc) {
  if (!out_) fail();
}

OutputFile::~OutputFile() {
  if (committed_) return;
  out_.close();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void OutputFile::fail() const {
  throw Error(ErrorCode::kIo,
              "{}: cannot be written; does the folder exist, is the disk full or read-only?",
              path_.string());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  out_.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!out_) fail();
}

void OutputFile::write_at(uint64_t offset, std::string_view text) {
  out_.seekp(static_cast<std::streamoff>(offset));
  write(text);
}

void OutputFile::commit() {
  SLUICE_CHECK(!committed_);
  out_.close();
  std::error_code failure;
  if (out_) std::filesystem::rename(temporary_, path_, failure);
  if (!out_ || failure) fail();
  committed_ = true;
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     std::vector<WriterTensor> tensors)
    : file_(path) {
  nlohmann::json header;
  header["__metadata__"] = {{"format", "pt"}};
  for (const WriterTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {left_, left_ + tensor.bytes}}};
    left_ += tensor.bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // The data start at a multiple of eight bytes.
  std::string length;
  for (size_t i = 0; i < 8; ++i) length += static_cast<char>(text.size() >> (8 * i) & 255);
  file_.write(length);
  file_.write(text);
}

void SafetensorsWriter::write(std::span<const std::byte> data) {
  SLUICE_CHECK(data.size() <= left_);
  left_ -= data.size();
  file_.write(data);
}

void SafetensorsWriter::commit() {
  SLUICE_CHECK(left_ == 0);
  file_.commit();
}

NpyWriter::NpyWriter(const std::filesystem::path& path, uint64_t columns)
    : file_(path), columns_(columns) {
  file_.write(header());
}

// Version 1.0: magic, version, header length, then a Python dictionary padded with spaces. The room
// for the number of rows is fixed, so that the header can be written again when it is known.
std::string NpyWriter::header() const {
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
                                 rows_, columns_);
  constexpr size_t kTotal = 128, kPrefix = 10;
  text.resize(kTotal - kPrefix - 1, ' ');
  std::string prefix = "\x93NUMPY";
  prefix += {'\x01', '\x00', static_cast<char>(kTotal - kPrefix), '\x00'};
  return prefix + text + '\n';
}

void NpyWriter::append(std::span<const float> rows) {
  SLUICE_CHECK(rows.size() % columns_ == 0);
  rows_ += rows.size() / columns_;
  file_.write(std::as_bytes(rows));
}

void NpyWriter::commit() {
  file_.write_at(0, header());
  file_.commit();
}

}  // namespace sluice::format
