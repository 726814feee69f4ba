#pragma once
#include <string>
#include <vector>

namespace sluice::cli {

/// What the machine gives when nothing else happens: what a benchmark's rates are shares of. Bytes
/// per second.
struct BenchCeilings {
  double memory = 0;   ///< All processors read memory.
  double drives = 0;   ///< All drives of a model are read at once, long, around the page cache.
  bool direct = true;  ///< False: some file was read through the page cache, which says little.
};

// Each measures for some tenths of a second, in memory that it gives back, and keeps the larger
// value: called before and after something, they tell its ceiling on a machine that drifts.
void raise_memory_ceiling(BenchCeilings& ceilings);
/// Opens the files anew. Throws Error(kIo) that names a file that cannot be read.
void raise_drive_ceiling(const std::vector<std::string>& files, BenchCeilings& ceilings);

}  // namespace sluice::cli
