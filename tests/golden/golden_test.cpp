// The arithmetic of K3 against goldens made with the publisher's own modelling file: without these,
// a wrong formula would be found by nobody.
#include "base/error.h"
#include "golden_file.h"
#include "model/loaded_model.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::golden {
namespace {

using model::BackendKind;
using model::LoadedModel;
using model::Tap;

constexpr double kModuleTolerance = 1e-5;  // Relative L2, one module at a time with golden input.
constexpr double kStreamTolerance = 1e-4;  // Relative L2 of the stream, end to end.

std::string key(uint32_t layer, std::string_view name) {
  return fmt::format("L{:02}.{}", layer, name);
}

double relative_error(std::span<const float> got, std::span<const float> want) {
  EXPECT_EQ(got.size(), want.size());
  double difference = 0, norm = 1e-300;
  for (size_t i = 0; i < want.size(); ++i) {
    difference += (double{got[i]} - want[i]) * (double{got[i]} - want[i]);
    norm += double{want[i]} * want[i];
  }
  return std::sqrt(difference / norm);
}

double largest_error(std::span<const float> got, std::span<const float> want) {
  EXPECT_EQ(got.size(), want.size());
  double largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(double{got[i]} - want[i]);
    if (!(error <= largest)) largest = error;  // NaN sticks.
  }
  return largest;
}

size_t argmax(std::span<const float> row) {
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

/// Compares what a pass computes with the golden values; with `feed`, puts the golden input in
/// front of every module first, so that errors cannot add up.
class Comparison final : public model::ForwardObserver {
 public:
  Comparison(const GoldenFile& golden, backend::Backend& backend, bool feed)
      : golden_(golden), backend_(backend), feed_(feed) {}

  void on_tensor(uint32_t layer, Tap tap, backend::Tensor tensor) override {
    const bool final = tap == Tap::kFinalIn || tap == Tap::kFinalNorm;
    const std::string name = final ? std::string(tap_name(tap)) : key(layer, tap_name(tap));
    const auto found = golden_.find(name);
    if (found == golden_.end()) return;
    const std::vector<float>& want = found->second.floats;
    std::vector<float> got(tensor.size());
    backend_.download(tensor, got);
    const double limit = feed_ ? kModuleTolerance : kStreamTolerance;
    const double error = relative_error(got, want);
    EXPECT_LE(error, limit) << name;
    // The stream is fed as well: mixtures read it and the anchors that are copied from it.
    if (feed_) backend_.upload(want, tensor);
    ++compared_;
  }

  void on_routes(uint32_t layer, const backend::Routes& routes) override {
    const auto ids = golden_.find(key(layer, "router_ids"));
    if (ids == golden_.end()) return;
    const GoldenTensor& weights = golden_.at(key(layer, "router_w"));
    for (uint32_t r = 0; r < routes.rows; ++r) {
      std::map<uint32_t, float> want, got;
      for (uint32_t j = 0; j < routes.k; ++j) {
        const size_t at = size_t{r} * routes.k + j;
        want[static_cast<uint32_t>(ids->second.integers[at])] = weights.floats[at];
        got[routes.experts[at]] = routes.weights[at];
      }
      for (const auto& [expert, weight] : want) {
        ASSERT_TRUE(got.contains(expert))
            << key(layer, "router_ids") << " row " << r << " lacks " << expert;
        EXPECT_NEAR(got[expert], weight, 1e-4) << key(layer, "router_w") << " row " << r;
      }
    }
  }

  [[nodiscard]] size_t compared() const { return compared_; }

 private:
  const GoldenFile& golden_;
  backend::Backend& backend_;
  const bool feed_;
  size_t compared_ = 0;
};

struct Run {
  std::vector<float> prompt_logits;  // [rows, vocab]
  std::vector<int32_t> generated;
  std::vector<float> step_logits;  // [generated, vocab], the logits that each choice was made from.
};

std::vector<float> forward(LoadedModel& loaded, model::SequenceState& state,
                           std::span<const int32_t> ids) {
  std::vector<TokenId> tokens;
  for (const int32_t id : ids) tokens.push_back({id});
  const std::vector<model::SequenceState*> states(tokens.size(), &state);
  std::vector<uint32_t> rows(tokens.size());
  for (uint32_t r = 0; r < rows.size(); ++r) rows[r] = r;
  std::vector<float> logits(rows.size() * loaded.shape().vocab);
  loaded.model().forward({tokens, states, rows}, logits);
  return logits;
}

Run run_greedy(LoadedModel& loaded, std::span<const int32_t> prompt, size_t count) {
  const std::unique_ptr<model::SequenceState> state = loaded.make_state();
  const size_t vocab = loaded.shape().vocab;
  Run run;
  run.prompt_logits = forward(loaded, *state, prompt);
  loaded.model().set_observer(nullptr);
  std::vector<float> last(run.prompt_logits.end() - static_cast<ptrdiff_t>(vocab),
                          run.prompt_logits.end());
  while (run.generated.size() < count) {
    run.generated.push_back(static_cast<int32_t>(argmax(last)));
    run.step_logits.insert(run.step_logits.end(), last.begin(), last.end());
    if (run.generated.size() < count)
      last = forward(loaded, *state, std::span(&run.generated.back(), 1));
  }
  return run;
}

LoadedModel load(const GoldenCase& golden, BackendKind backend) {
  return LoadedModel(golden.model, {.backend = backend,
                                    .memory_bytes = 2ull << 30,
                                    .prefill_rows = 130,
                                    .context = 256,
                                    .logits_of_every_row = true});
}

void compare_run(const GoldenCase& golden, BackendKind backend) {
  const GoldenFile file = read_golden(golden.golden);
  LoadedModel loaded = load(golden, backend);
  Comparison comparison(file, loaded.model().backend(), /*feed=*/false);
  loaded.model().set_observer(&comparison);
  const GoldenTensor& want = file.at("logits");
  const GoldenTensor& generated = file.at("generated");
  const Run run = run_greedy(loaded, file.at("prompt_ids").integers, generated.integers.size());
  EXPECT_GT(comparison.compared(), 0u);
  EXPECT_LE(largest_error(run.prompt_logits, want.floats), golden.logits_tolerance);
  for (size_t r = 0; r < want.shape[0]; ++r) {
    const size_t vocab = want.cols();
    EXPECT_EQ(argmax(std::span(run.prompt_logits).subspan(r * vocab, vocab)),
              argmax(std::span(want.floats).subspan(r * vocab, vocab)))
        << "row " << r;
  }
  EXPECT_EQ(run.generated, generated.integers);
  EXPECT_LE(largest_error(run.step_logits, file.at("step_logits").floats), golden.logits_tolerance);
}

void compare_modules(const GoldenCase& golden, BackendKind backend) {
  const GoldenFile file = read_golden(golden.golden);
  LoadedModel loaded = load(golden, backend);
  Comparison comparison(file, loaded.model().backend(), /*feed=*/true);
  loaded.model().set_observer(&comparison);
  const Run run = run_greedy(loaded, file.at("prompt_ids").integers, 0);
  EXPECT_GE(comparison.compared(), 5 * loaded.shape().layers);
}

// The two oldest models come with a golden of another form: some positions only.
void compare_json(const GoldenCase& golden, BackendKind backend) {
  const nlohmann::json file = nlohmann::json::parse(std::ifstream(golden.golden));
  LoadedModel loaded = load(golden, backend);
  const auto greedy = file["greedy"].get<std::vector<int32_t>>();
  const Run run = run_greedy(loaded, file["prompt"].get<std::vector<int32_t>>(), greedy.size());
  const size_t vocab = loaded.shape().vocab;
  const auto row = [&](size_t r) { return std::span(run.prompt_logits).subspan(r * vocab, vocab); };
  for (const auto& [position, logits] : file["logits"].items()) {
    EXPECT_LE(largest_error(row(std::stoul(position)), logits.get<std::vector<float>>()),
              golden.logits_tolerance)
        << "position " << position;
  }
  const auto best = file["argmax"].get<std::vector<size_t>>();
  for (size_t r = 0; r < best.size(); ++r) EXPECT_EQ(argmax(row(r)), best[r]) << "position " << r;
  EXPECT_EQ(run.generated, greedy);
}

class Golden : public testing::TestWithParam<std::tuple<GoldenCase, BackendKind>> {};
class GoldenModules : public Golden {};

TEST_P(Golden, EndToEnd) {
  const auto& [golden, backend] = GetParam();
  if (golden.golden.extension() == ".json") {
    compare_json(golden, backend);
  } else {
    compare_run(golden, backend);
  }
}

TEST_P(GoldenModules, OneByOne) {
  const auto& [golden, backend] = GetParam();
  compare_modules(golden, backend);
}

std::vector<GoldenCase> cases_with_modules() {
  std::vector<GoldenCase> cases = golden_cases();
  std::erase_if(cases, [](const GoldenCase& golden) { return !golden.holds_modules; });
  return cases;
}

std::string case_name(const testing::TestParamInfo<Golden::ParamType>& parameter) {
  const auto& [golden, backend] = parameter.param;
  std::string name = golden.name + (backend == BackendKind::kCpu ? "_cpu" : "_reference");
  std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

const auto kBackends = testing::Values(BackendKind::kCpu, BackendKind::kReference);
INSTANTIATE_TEST_SUITE_P(All, Golden,
                         testing::Combine(testing::ValuesIn(golden_cases()), kBackends), case_name);
INSTANTIATE_TEST_SUITE_P(All, GoldenModules,
                         testing::Combine(testing::ValuesIn(cases_with_modules()), kBackends),
                         case_name);

TEST(GoldenCases, OracleIsPresent) {
  EXPECT_FALSE(golden_cases().empty()) << "the golden of the repository itself is missing";
  if (!std::filesystem::exists(oracle_models() / "tiny13-eps")) {
    GTEST_SKIP() << "the oracle's checkpoints are not in " << oracle_models()
                 << ": only the repository's own golden is tested";
  }
  std::set<std::string> models;
  for (const GoldenCase& golden : golden_cases())
    models.insert(golden.name.substr(0, golden.name.find('/')));
  EXPECT_EQ(models.size(), 9u);
}

}  // namespace
}  // namespace sluice::golden
