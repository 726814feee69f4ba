#pragma once
#include <cstddef>
#include <cstdint>

namespace sluice::stream {

/// What a SlotArena is for.
enum class SlotMemory : uint8_t {
  kWeights,
  kNothing,  ///< Addresses alone: nothing may be written or read there.
};

/// One anonymous mapping, aligned to 2 MiB and backed by huge pages where the system allows it. The
/// address space is reserved by the constructor; a page takes memory when it is first written. Move
/// is not offered: reads in flight know the addresses.
class SlotArena {
 public:
  /// Throws Error(kOutOfMemory) when the system refuses the mapping. `bytes` may be 0.
  explicit SlotArena(uint64_t bytes, SlotMemory memory = SlotMemory::kWeights);
  ~SlotArena();
  SlotArena(const SlotArena&) = delete;
  SlotArena& operator=(const SlotArena&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace sluice::stream
