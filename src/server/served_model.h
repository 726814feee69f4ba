#pragma once
#include "engine/engine.h"
#include "model/loaded_model.h"
#include "text/token_mask.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <string>

namespace sluice::server {

/// The model that a server answers with. All of it outlives the server.
struct ServedModel {
  model::LoadedModel& loaded;
  engine::Engine& engine;
  const text::Tokenizer& tokenizer;
  const text::TokenTree& tree;
  std::string name;         ///< Its id for clients.
  int64_t created = 0;      ///< Seconds since 1970.
  std::string fingerprint;  ///< Of weights and program, for system_fingerprint.
  std::string version{};    ///< Of the program.
};

}  // namespace sluice::server
