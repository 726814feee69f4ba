#include "cli/eval_progress.h"

#include "base/error.h"
#include "base/read_file.h"
#include "format/output_file.h"

#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kVersion = 1;

/// The pairs of an object of strings; nothing when it is none.
std::optional<EvalIdentity> identity_in(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  EvalIdentity identity;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) return std::nullopt;
    identity.emplace_back(name, value.get<std::string>());
  }
  return identity;
}

bool read(const Json& json, const char* name, uint64_t& to) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_unsigned()) return false;
  to = found->get<uint64_t>();
  return true;
}

bool read(const Json& json, const char* name, double& to) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return false;
  to = found->get<double>();
  return true;
}

bool read(const Json& json, const char* name, std::string& to) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return false;
  to = found->get<std::string>();
  return true;
}

std::optional<EvalState> state_in(const Json& json) {
  EvalState state;
  if (!json.is_object() || !read(json, "done", state.done) || !read(json, "rows", state.rows) ||
      !read(json, "seconds", state.seconds) ||
      !read(json, "log_probability", state.log_probability) ||
      !read(json, "correct", state.correct) || !read(json, "output_bytes", state.output_bytes) ||
      !read(json, "routes_bytes", state.routes.bytes) ||
      !read(json, "routes_passes", state.routes.passes)) {
    return std::nullopt;
  }
  return state;
}

}  // namespace

EvalState EvalProgressFile::load() const {
  if (!wanted() || !std::filesystem::exists(path_)) return {};
  constexpr uint64_t kBytesMax = 1u << 28;
  const FileText file = read_file(path_, kBytesMax);
  if (!file.trouble.empty()) throw Error(ErrorCode::kIo, "{}: {}", path_, file.trouble);
  const Json json = Json::parse(file.text, nullptr, false);
  uint64_t version = 0;
  const bool ours = json.is_object() && read(json, "sluice_eval", version) && version == kVersion &&
                    json.contains("run") && json.contains("state");
  const std::optional<EvalIdentity> saved = ours ? identity_in(json["run"]) : std::nullopt;
  const std::optional<EvalState> state = ours ? state_in(json["state"]) : std::nullopt;
  if (!saved || !state) {
    throw Error(ErrorCode::kCorrupt,
                "{}: is not a progress file of this program's eval; give another name, or remove "
                "it to start anew",
                path_);
  }
  check(*saved);
  return *state;
}

void EvalProgressFile::check(const EvalIdentity& saved) const {
  const auto shown = [](const std::string& value) { return value.empty() ? "nothing" : value; };
  for (size_t i = 0; i < identity_.size(); ++i) {
    const auto& [name, value] = identity_[i];
    const bool same_name = i < saved.size() && saved[i].first == name;
    if (same_name && saved[i].second == value) continue;
    throw Error(ErrorCode::kInvalidInput,
                "{}: is the progress of another run: {} was {} there and is {} now; repeat that "
                "run's options, or give another --progress",
                path_, name, shown(same_name ? saved[i].second : ""), shown(value));
  }
}

void EvalProgressFile::save(const EvalState& state) const {
  Json run = Json::object();
  for (const auto& [name, value] : identity_) run[name] = value;
  const Json json = {{"sluice_eval", kVersion},
                     {"run", std::move(run)},
                     {"state",
                      {{"done", state.done},
                       {"rows", state.rows},
                       {"seconds", state.seconds},
                       {"log_probability", state.log_probability},
                       {"correct", state.correct},
                       {"output_bytes", state.output_bytes},
                       {"routes_bytes", state.routes.bytes},
                       {"routes_passes", state.routes.passes}}}};
  format::OutputFile file(path_);
  file.write(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  file.commit();
}

}  // namespace sluice::cli
