#pragma once
#include "engine/engine.h"
#include "model/loaded_model.h"
#include "server/live_view.h"
#include "server/reply_order.h"
#include "server/served_model.h"
#include "text/token_mask.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// For tests: the small model that comes with the source, ready to be served.
namespace sluice::server {

class TestModel {
 public:
  explicit TestModel(engine::EngineOptions options = {.sequences = 2}, uint32_t context = 512)
      : tokenizer(SLUICE_SOURCE_DIR "/models/nano"),
        tree(tokenizer),
        loaded(SLUICE_SOURCE_DIR "/models/nano", loading(options, context, live)),
        engine(loaded, options),
        served{.loaded = loaded,
               .engine = engine,
               .tokenizer = tokenizer,
               .tree = tree,
               .name = "nano",
               .created = 1,
               .fingerprint = "fp",
               .version = "0.1"} {
    live.begin(loaded);
  }

  /// A greedy order for the reply to a chat request in OpenAI's form.
  [[nodiscard]] ReplyOrder chat_order(std::string_view json) const {
    text::ChatRequest chat = text::parse_chat_request(json);
    ReplyOrder order{.prompt = text::encode_chat(tokenizer, chat), .chat = std::move(chat)};
    order.sampling.temperature = 0;
    return order;
  }
  /// One for the continuation of a text.
  [[nodiscard]] ReplyOrder text_order(std::string_view prompt, uint32_t max_tokens) const {
    ReplyOrder order{.prompt = tokenizer.encode(prompt), .max_tokens = max_tokens};
    order.sampling.temperature = 0;
    return order;
  }

  LiveView live;
  text::Tokenizer tokenizer;
  text::TokenTree tree;
  model::LoadedModel loaded;
  engine::Engine engine;
  ServedModel served;

 private:
  static model::LoadOptions loading(const engine::EngineOptions& options, uint32_t context,
                                    LiveView& live) {
    model::LoadOptions load;
    load.threads = 1;
    load.memory_bytes = 256u << 20;
    load.context = context;
    engine::Engine::prepare(load, options);
    live.attach(load);
    return load;
  }
};

}  // namespace sluice::server
