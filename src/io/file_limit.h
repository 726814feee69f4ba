#pragma once
#include <cstdint>

namespace sluice::io {

/// Lets this process open `more` files beside those that it has open, by raising its soft limit as
/// far as the hard one. Throws Error(kIo) that says how many files are needed and who can allow
/// them.
void allow_open_files(uint64_t more);

}  // namespace sluice::io
