#pragma once
#include "format/output_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::format {

/// One tensor of a file to be written.
struct WriterTensor {
  std::string name;
  std::string dtype;  ///< As the format spells it: "BF16", "F32", "I32", "U8".
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;
};

/// Writes a .safetensors file: all tensors are declared first, then their data follow in the same
/// order, in pieces of any size.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, std::vector<WriterTensor> tensors);
  void write(std::span<const std::byte> data);
  /// Leaves the data that have not been written to read as zeros.
  void skip_rest();
  /// All data must have been written (checked).
  void commit();

 private:
  OutputFile file_;
  uint64_t left_ = 0;
};

/// A .npy file of fp32 [rows, columns] that grows row by row.
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, uint64_t columns);
  void append(std::span<const float> rows);  ///< A multiple of `columns` values.
  void commit();

 private:
  [[nodiscard]] std::string header() const;

  OutputFile file_;
  const uint64_t columns_;
  uint64_t rows_ = 0;
};

}  // namespace sluice::format
