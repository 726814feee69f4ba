#include "base/error.h"
#include "cli/answer.h"
#include "cli/chat_prompt.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "engine/engine.h"
#include "server/server.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace sluice::cli {
namespace {

class ServeCommand : public Command {
 public:
  std::string name() const override { return "serve"; }
  std::string summary() const override {
    return "Answers clients of the OpenAI and Anthropic interfaces, and has a page to chat on";
  }
  std::string details() const override {
    return "Listens on this machine alone unless --host says otherwise; give --api-key then. "
           "http://HOST:PORT/ is the page, http://HOST:PORT/v1 what clients want for a base "
           "address; docs/server.md has the interfaces. Ctrl-C lets the answers under way end; a "
           "second one ends the program at once.";
  }
  void declare(OptionList& options) override;
  int run() override;

 private:
  void open();
  [[nodiscard]] server::ServedModel served();
  [[nodiscard]] server::ServerOptions server_options() const;
  void announce(uint16_t port) const;

  ModelSettings model_;
  server::ServerOptions server_;
  uint32_t port_ = server::ServerOptions{}.port;
  engine::EngineOptions engine_options_{.sequences = 2};
  std::string name_;
  std::vector<std::string> keys_, hosts_, origins_;
  uint32_t grace_seconds_ = 30, keep_alive_seconds_ = 10;
  bool quiet_ = false;

  std::optional<text::Tokenizer> tokenizer_;
  std::optional<text::TokenTree> tree_;
  server::LiveView live_;  // The model tells it of its reads.
  std::optional<model::LoadedModel> loaded_;
  std::optional<engine::Engine> engine_;
};

constexpr uint32_t kContext = 32768;

void ServeCommand::declare(OptionList& options) {
  declare_model_folder(options, model_);
  options.group("Server");
  options.string({"host", "ADDRESS", "where to listen; 0.0.0.0 is every network"}, server_.host);
  options.number({"port", "N", "0 takes a free one"}, port_, {0, 65535});
  options.strings({"api-key", "KEY", "clients must give it; may be given several times"}, keys_);
  options.strings({"allow-host", "NAME",
                   "a name that this machine has for clients, where no key is needed; may be given "
                   "several times"},
                  hosts_);
  options.strings(
      {"cors", "ORIGIN", "a site whose pages may use the server, or *; may be given several times"},
      origins_);
  options.number({"max-sequences", "N", "answers that are written at one time"},
                 engine_options_.sequences, {1, 64});
  options.number({"max-queue", "N", "requests that may wait; more are told to come again"},
                 engine_options_.queue_max, {0, 65536});
  options.string({"name", "ID", "what clients call the model"}, name_);
  options.describe_default("the name of its folder");
  options.flag({"strict-model", "", "refuse requests for a model of another name"},
               server_.strict_model);
  options.flag(
      {"strict-sampling", "",
       "refuse chats that Moonshot's interface would: it has temperature 1, top_p 0.95, n 1 "
       "and no penalties"},
      server_.strict_sampling);
  options.bytes({"max-body", "SIZE", "of one request"}, server_.limits.body_bytes);
  options.number({"keep-alive", "SECONDS", "between signs of life in a stream"},
                 keep_alive_seconds_, {1, 3600});
  options.number({"grace", "SECONDS", "that answers get to end when the server is stopped"},
                 grace_seconds_, {0, 86400});
  options.flag({"quiet", "", "no line for each request"}, quiet_);
  declare_model_options(options, model_, fmt::format("{}", kContext));
}

void ServeCommand::open() {
  tokenizer_ = open_tokenizer(model_.folder);
  if (!tokenizer_) {
    throw Error(ErrorCode::kNotFound, "{} has no tiktoken.model, which answers need",
                model_.folder);
  }
  tree_.emplace(*tokenizer_);
  model::LoadOptions load = load_options(model_);
  if (model_.context == 0) load.context = kContext;
  engine::Engine::prepare(load, engine_options_);
  live_.attach(load);
  AnswerSettings showing;
  showing.quiet = quiet_;
  loaded_.emplace(open_model(model_.folder, load, showing));
  live_.begin(*loaded_);
  check_vocabulary(*tokenizer_, loaded_->shape().vocab, model_.folder);
  engine_.emplace(*loaded_, engine_options_);
}

std::string name_of(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

server::ServedModel ServeCommand::served() {
  return {.loaded = *loaded_,
          .engine = *engine_,
          .tokenizer = *tokenizer_,
          .tree = *tree_,
          .name = name_.empty() ? name_of(model_.folder) : name_,
          .created = std::time(nullptr),
          .fingerprint = fmt::format("fp_{:016x}_{}", loaded_->fingerprint(), kVersion),
          .version = std::string(kVersion)};
}

void show_request(const server::AnsweredRequest& request) {
  const bool watching = request.path == "/health" || request.path == "/metrics" ||
                        request.path == "/sluice/live" || request.path.starts_with("/web/");
  if (watching && request.status < 400) return;
  const std::chrono::duration<double> seconds = request.duration;
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  fmt::print(stderr, "{:%H:%M:%S} {} {} {} {:.3f} s{}\n", local, request.method, request.path,
             request.status, seconds.count(), request.gone ? ", and the client was gone" : "");
}

server::ServerOptions ServeCommand::server_options() const {
  server::ServerOptions options = server_;
  options.port = static_cast<uint16_t>(port_);
  options.access = {.api_keys = keys_,
                    .allowed_hosts = hosts_,
                    .cors_origins = origins_,
                    .bound_host = server_.host};
  options.writing.keep_alive = std::chrono::seconds(keep_alive_seconds_);
  if (!quiet_) options.on_answered = show_request;
  return options;
}

// For people and for programs that started it, so in one known form.
void ServeCommand::announce(uint16_t port) const {
  const bool is_v6 = server_.host.find(':') != std::string::npos;
  fmt::print(stderr, "listening on http://{}{}{}:{}\n", is_v6 ? "[" : "", server_.host,
             is_v6 ? "]" : "", port);
  const bool is_local =
      server_.host == "127.0.0.1" || server_.host == "localhost" || server_.host == "::1";
  if (!is_local && keys_.empty()) {
    fmt::print(stderr, "note: without --api-key, everyone who reaches this address may use it\n");
  }
}

int ServeCommand::run() {
  open();
  const server::ServedModel served = this->served();
  server::Server server(served, live_, server_options());
  const InterruptGuard interrupt;
  announce(server.port());
  interrupt.wait();
  if (const uint32_t running = engine_->status().running; running > 0) {
    fmt::print(stderr, "{} {} to end; Ctrl-C again ends at once\n", running,
               running == 1 ? "answer is yet" : "answers are yet");
  }
  server.close(std::chrono::seconds(grace_seconds_));
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace sluice::cli
