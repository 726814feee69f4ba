#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace sluice::format {

/// A file that appears whole or not at all: written under a temporary name, renamed by commit(),
/// removed when it is dropped before. Throws Error(kIo) that names the path.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Overwrites bytes that were written before.
  void write_at(uint64_t offset, std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_, temporary_;
  std::ofstream out_;
  bool committed_ = false;
};

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
