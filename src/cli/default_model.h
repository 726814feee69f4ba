#pragma once
#include <filesystem>
#include <string>

namespace sluice::cli {

/// The folder of the small model that comes with the program: models/nano of the installation's
/// share/sluice, or of the source tree around the build. When there is none, where an installation
/// would have it.
[[nodiscard]] std::string default_model();

/// The same for a program that lies at `program`.
[[nodiscard]] std::filesystem::path default_model_of(const std::filesystem::path& program);

}  // namespace sluice::cli
