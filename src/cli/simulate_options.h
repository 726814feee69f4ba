#pragma once
#include "simulator/compute_rates.h"
#include "simulator/simulation.h"

#include <string_view>

namespace sluice::cli {

/// A drive from "NAME=RATE[,latency=TIME][,spread=TIME][,room=SIZE][,queue=N]
/// [,jitter=SHARE][,stall=CHANCE:TIME]".
/// Throws Error(kInvalidInput) that names `option`.
[[nodiscard]] simulator::SimulatedDrive parse_drive(std::string_view text, std::string_view option);

/// Rates from "bf16=RATE,mxfp4=RATE[,NAME=VALUE...]". What is not named keeps its usual proportion
/// to the first. Throws Error(kInvalidInput).
[[nodiscard]] simulator::ComputeRates parse_computing(std::string_view text,
                                                      std::string_view option);

/// In the form that parse_computing() reads, with all names.
[[nodiscard]] std::string computing_text(const simulator::ComputeRates& rates);

}  // namespace sluice::cli
