#pragma once
#include "cli/options.h"
#include "io/open_drives.h"
#include "model/loaded_model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::cli {

/// The options of every command that opens a model.
struct ModelSettings {
  std::string folder;
  std::vector<std::string> volumes;
  uint64_t memory_bytes = 0;
  uint32_t context = 0;
  uint32_t prefill_rows = 0;
  uint32_t threads = 0;
  std::string backend = "cpu", target;
  float mla_norm_epsilon = 1e-6f;
  bool buffered = false;
  std::string io = "auto";
  std::string hints = "on";
};

/// Declares MODEL, --volume and --memory.
void declare_model_folder(OptionList& options, ModelSettings& settings);
/// Declares the rest of them. `context`: the default of --context in words.
void declare_model_options(OptionList& options, ModelSettings& settings, std::string context);

/// Declares --io, with which any command that reads drives says how.
void declare_read_method(OptionList& options, std::string& io);
[[nodiscard]] io::ReadMethod read_method(const std::string& io);

[[nodiscard]] model::LoadOptions load_options(const ModelSettings& settings);

}  // namespace sluice::cli
