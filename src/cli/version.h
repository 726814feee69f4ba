#pragma once
#include <string_view>

namespace sluice::cli {

extern const std::string_view kVersion;  ///< Of the program: "0.1.0".
/// What the program was built from, with "-dirty" when there were changes besides; empty when that
/// was no repository.
extern const std::string_view kCommit;

}  // namespace sluice::cli
