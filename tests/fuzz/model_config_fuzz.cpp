// Any text as config.json: it is refused with an Error that names the file, or the shape has no
// zero to divide by and no width that overflows.
#include "base/check.h"
#include "base/error.h"
#include "model/shape.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

void check(const sluice::model::ModelShape& s) {
  constexpr uint64_t kWidthMax = 1u << 20;
  for (const uint64_t width :
       {uint64_t{s.hidden}, uint64_t{s.kda_heads} * s.kda_head_dim, uint64_t{s.q_lora},
        uint64_t{s.mla_heads} * (uint64_t{s.nope} + s.rope), uint64_t{s.mla_heads} * s.value,
        uint64_t{s.mla_heads} * (uint64_t{s.nope} + s.value), uint64_t{s.kv_lora}, uint64_t{s.rope},
        uint64_t{s.dense_hidden}, uint64_t{s.expert_hidden}, uint64_t{s.latent},
        uint64_t{s.shared_hidden}}) {
    SLUICE_CHECK(width >= 1 && width <= kWidthMax);
  }
  SLUICE_CHECK(s.expert_hidden % 32 == 0 && s.latent % 32 == 0);
  SLUICE_CHECK(s.layers >= 1 && s.is_mla.size() == s.layers && s.dense_layers <= s.layers);
  SLUICE_CHECK(s.attn_residual_block >= 1 && s.residual_sources() >= 2);
  SLUICE_CHECK(s.residual_sources() <= s.layers + 1);
  SLUICE_CHECK(s.experts >= 1 && s.experts_per_token >= 1 && s.experts_per_token <= s.experts);
  SLUICE_CHECK(s.conv_width >= 2 && s.context_max >= 1 && s.vocab >= 1);
  for (const int32_t token : {s.bos, s.eos, s.pad}) {
    SLUICE_CHECK(token >= -1 && token < static_cast<int64_t>(s.vocab));
  }
  SLUICE_CHECK(s.norm_epsilon >= 0 && s.situ_beta > 0 && s.situ_linear_beta > 0);
  SLUICE_CHECK(s.gate_lower_bound <= 0 && s.routed_scale >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = "fuzz.json";
  try {
    check(sluice::model::parse_shape({reinterpret_cast<const char*>(data), size}, path));
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(std::string_view(error.what()).starts_with(path));
  }
  return 0;
}
