// A state or a record of one checkpoint that is taken for another's gives nonsense without a word;
// these hold the number that tells checkpoints apart.
#include "model/loaded_model.h"

#include "base/error.h"
#include "model/test_checkpoint.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::model {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kMemoryBytes = 256u << 20;

LoadedModel load(const TestFolder& folder, float mla_norm_epsilon = 1e-6f) {
  return LoadedModel(folder.path(), {.threads = 1,
                                     .memory_bytes = kMemoryBytes,
                                     .context = 16,
                                     .mla_norm_epsilon = mla_norm_epsilon});
}

void write(const TestFolder& folder, uint64_t seed) {
  format::write_synthetic_checkpoint(folder.path(), small_synthetic_shape(), {.seed = seed});
}

TEST(LoadedModel, FingerprintIsOfTheCheckpointAlone) {
  const TestFolder one, copy, other;
  write(one, 1);
  write(copy, 1);
  write(other, 2);
  const uint64_t fingerprint = load(one).fingerprint();
  EXPECT_EQ(load(one).fingerprint(), fingerprint);
  EXPECT_EQ(load(copy).fingerprint(), fingerprint);
  EXPECT_EQ(load(copy, 1e-5f).fingerprint(), fingerprint);
  EXPECT_NE(load(other).fingerprint(), fingerprint);
}

TEST(LoadedModel, FingerprintSeesConfigAndHeadersAndSmallTensors) {
  const TestCheckpoint good(small_synthetic_shape());
  const TestFolder folder;
  good.write(folder.path());
  const uint64_t fingerprint = load(folder).fingerprint();
  TestCheckpoint config = good, order = good, weights = good;
  config.config += "\n";
  std::swap(order.tensors[0], order.tensors[1]);
  weights.at("language_model.model.norm.weight").data[3] ^= 1;
  for (const TestCheckpoint* changed : {&config, &order, &weights}) {
    changed->write(folder.path());
    EXPECT_NE(load(folder).fingerprint(), fingerprint);
  }
}

TEST(LoadedModel, RefusesTheStateOfAnotherCheckpoint) {
  const TestFolder one, other;
  write(one, 1);
  write(other, 2);
  const std::filesystem::path saved = one.path() / "saved.state";
  {
    LoadedModel loaded = load(one);
    loaded.make_state()->save(saved);
    loaded.make_state()->load(saved);
  }
  const auto refusal = [&](LoadedModel loaded) -> Error {
    try {
      loaded.make_state()->load(saved);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "accepted";
    return {ErrorCode::kCancelled, "none"};
  };
  const Error checkpoint = refusal(load(other));
  EXPECT_EQ(checkpoint.code(), ErrorCode::kInvalidInput);
  EXPECT_THAT(checkpoint.what(), AllOf(HasSubstr(saved.string()), HasSubstr("checkpoint")));
  const Error epsilon = refusal(load(one, 1e-5f));
  EXPECT_EQ(epsilon.code(), ErrorCode::kInvalidInput);
  EXPECT_THAT(epsilon.what(), AllOf(HasSubstr(saved.string()), HasSubstr("--mla-norm-eps"),
                                    HasSubstr("1e-06"), HasSubstr("1e-05")));
}

/// What ends a pass of a few rows, enough for every expert to be chosen.
Error failure_of_a_pass(LoadedModel& loaded) {
  std::vector<TokenId> tokens;
  for (int32_t id = 0; id < 16; ++id) tokens.push_back({id * 17});
  const std::unique_ptr<SequenceState> state = loaded.make_state();
  const std::vector<SequenceState*> states(tokens.size(), state.get());
  try {
    loaded.model().forward({.tokens = tokens, .states = states, .logits_rows = {}}, {});
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::kCancelled, "none"};
}

TEST(LoadedModel, AScaleThatIsNoNumberIsNamed) {
  const TestCheckpoint good(small_synthetic_shape());
  for (const BackendKind backend : {BackendKind::kCpu, BackendKind::kReference}) {
    for (const char* matrix : {"w1", "w2", "w3"}) {
      for (const bool last : {false, true}) {
        const TestFolder folder;
        TestCheckpoint bad = good;
        std::string& scales =
            bad.at(fmt::format("language_model.model.layers.2.block_sparse_moe.experts.1.{}."
                               "weight_scale",
                               matrix))
                .data;
        scales[last ? scales.size() - 1 : scales.size() / 3] = '\xff';
        bad.write(folder.path());
        LoadedModel loaded(folder.path(),
                           {.backend = backend, .threads = 1, .memory_bytes = kMemoryBytes});
        for (int pass = 0; pass < 2; ++pass) {  // It stays in memory and must be refused again.
          const Error error = failure_of_a_pass(loaded);
          EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
          EXPECT_THAT(error.what(), AllOf(HasSubstr("expert 1 of layer 2"), HasSubstr("255"),
                                          HasSubstr((folder.path() / "model.safetensors").string()),
                                          HasSubstr("again")));
        }
      }
    }
  }
}

TEST(LoadedModel, AFailedReadNamesTheTensorOrTheExpert) {
  TestCheckpoint checkpoint(small_synthetic_shape());
  // The embeddings first and the experts last, so that the file can be cut in front of either.
  const auto rank = [](const StoredTensor& t) {
    return t.name.find("embed_tokens") != std::string::npos ? 0
           : t.name.find(".experts.") != std::string::npos  ? 2
                                                            : 1;
  };
  std::ranges::stable_sort(checkpoint.tensors, {}, rank);
  const TestFolder folder;
  checkpoint.write(folder.path());
  const std::filesystem::path shard = folder.path() / "model.safetensors";
  const uint64_t bytes = std::filesystem::file_size(shard);
  uint64_t behind_embeddings = 0, experts = 0;
  for (const StoredTensor& t : checkpoint.tensors) {
    if (rank(t) != 0) behind_embeddings += t.data.size();
    if (rank(t) == 2) experts += t.data.size();
  }
  for (const auto& [cut, names] :
       {std::pair{behind_embeddings, "tensor language_model.model.layers.0.self_attn.q_proj."},
        std::pair{experts, "of layer 1"}}) {
    checkpoint.write(folder.path());
    LoadedModel loaded = load(folder);
    std::filesystem::resize_file(shard, bytes - cut);
    const Error error = failure_of_a_pass(loaded);
    EXPECT_EQ(error.code(), ErrorCode::kIo) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr(names), HasSubstr(shard.string())));
  }
}

}  // namespace
}  // namespace sluice::model
