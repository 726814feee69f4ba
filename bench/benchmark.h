#pragma once
#include "cli/options.h"

#include <functional>
#include <string_view>

namespace sluice::bench {

/// The main() of a benchmark: stores the arguments where `options` are bound to and calls `run`.
/// For --help prints `about` (lines of at most 100 columns) and the options instead. Returns the
/// exit code: 2 for arguments that cannot be right, 1 for another error, whose text goes to stderr.
[[nodiscard]] int run_main(int argc, char** argv, std::string_view about, cli::OptionList& options,
                           const std::function<void()>& run);

}  // namespace sluice::bench
