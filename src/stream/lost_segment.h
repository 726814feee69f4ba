#pragma once
#include "stream/piece_reads.h"

#include <string>

namespace sluice::stream {

/// Throws Error(kIo) that says why a segment cannot be had and what to do. `failure`: its last
/// read, from the file at `path`.
[[noreturn]] void report_lost_segment(const EndedRead& failure, const std::string& path,
                                      const std::string& segment);

}  // namespace sluice::stream
