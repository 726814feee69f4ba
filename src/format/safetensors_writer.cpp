#include "format/safetensors_writer.h"

#include "base/check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::format {

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

void SafetensorsWriter::skip_rest() {
  file_.skip(left_);
  left_ = 0;
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
