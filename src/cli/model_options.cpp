#include "cli/model_options.h"

#include "base/error.h"
#include "cli/default_model.h"

#include <utility>

namespace sluice::cli {

void declare_model_folder(OptionList& options, ModelSettings& settings) {
  options.group("Model");
  settings.folder = default_model();
  options.optional_argument({"MODEL", "", "folder of a checkpoint in the released layout"},
                            settings.folder, Completion::kFolder);
  options.describe_default("the small model that comes with the program");
  options.strings({"volume", "DIR",
                   "another folder with packs of the model or copies of its shards, on a drive of "
                   "its own; may be given several times"},
                  settings.volumes, Completion::kFolder);
  options.group("Machine");
  options.bytes({"memory", "SIZE",
                 "budget of the whole program, for example 20GiB, 20GB or a count of bytes"},
                settings.memory_bytes);
  options.describe_default("what this machine or its container has free");
}

void declare_model_options(OptionList& options, ModelSettings& settings, std::string context) {
  constexpr uint32_t kContextMax = 1u << 20, kRowsMax = 1u << 16, kThreadsMax = 1024;
  options.group("Machine");
  options.number({"context", "N", "tokens of prompt and answer together"}, settings.context,
                 {1, kContextMax});
  options.describe_default(std::move(context));
  options.number({"prefill-chunk", "N", "tokens of the prompt that go through each layer together"},
                 settings.prefill_rows, {1, kRowsMax});
  options.describe_default("as many as the memory allows, up to 512");
  options.number({"threads", "N", "threads that compute"}, settings.threads, {1, kThreadsMax});
  options.describe_default("every processor this process may use");
  options.choice(
      {"backend", "NAME", "cpu, or the slow float64 arithmetic that defines every operation"},
      settings.backend, {"cpu", "reference"});
  options.choice({"target", "NAME", "instruction set of the cpu backend"}, settings.target,
                 {"scalar", "avx2", "avx512", "neon"});
  options.describe_default("the fastest that this processor has");
  options.flag({"buffered", "", "read through the page cache instead of around it"},
               settings.buffered);
  declare_read_method(options, settings.io);
  options.choice({"hints", "WHEN",
                  "whether idle drives read the experts that the next layer will probably want"},
                 settings.hints, {"on", "off"});
  options.number({"mla-norm-eps", "E", "epsilon of the two latent norms of attention"},
                 settings.mla_norm_epsilon, {0.0f, 1.0f});
}

void declare_read_method(OptionList& options, std::string& io) {
  options.choice(
      {"io", "NAME", "who reads: io_uring, threads with pread, or the first where it is offered"},
      io, {"auto", "uring", "pread"});
}

io::ReadMethod read_method(const std::string& io) {
  if (io == "uring") return io::ReadMethod::kUring;
  return io == "pread" ? io::ReadMethod::kPread : io::ReadMethod::kAuto;
}

model::LoadOptions load_options(const ModelSettings& settings) {
  if (settings.backend == "reference" && !settings.target.empty()) {
    throw Error(ErrorCode::kInvalidInput, "--target is an instruction set of --backend cpu");
  }
  model::LoadOptions options;
  options.volumes.assign(settings.volumes.begin(), settings.volumes.end());
  options.backend =
      settings.backend == "reference" ? model::BackendKind::kReference : model::BackendKind::kCpu;
  options.target = settings.target;
  options.threads = settings.threads;
  options.memory_bytes = settings.memory_bytes;
  options.prefill_rows = settings.prefill_rows;
  if (settings.context != 0) options.context = settings.context;
  options.mla_norm_epsilon = settings.mla_norm_epsilon;
  options.hints = settings.hints == "on";
  options.direct_io = !settings.buffered;
  options.read_method = read_method(settings.io);
  return options;
}

}  // namespace sluice::cli
