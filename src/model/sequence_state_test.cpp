// A state that is cut, saved or loaded wrongly would continue another text; these compare every
// number.
#include "model/sequence_state.h"

#include "base/error.h"

#include <fstream>
#include <memory>

#include <gtest/gtest.h>

namespace sluice::model {
namespace {

constexpr uint64_t kFingerprint = 7;

ModelShape small_shape() {
  ModelShape shape;
  shape.layers = 3;
  shape.is_mla = {false, true, false};
  shape.kda_heads = 2;
  shape.kda_head_dim = 4;
  shape.conv_width = 4;
  shape.kv_lora = 5;
  shape.rope = 3;
  return shape;
}

class SequenceStateTest : public testing::Test {
 protected:
  static std::vector<float> numbers(backend::Backend& backend, backend::Tensor tensor) {
    std::vector<float> values(tensor.size());
    backend.download(tensor, values);
    return values;
  }

  void fill(SequenceState& state, float start, uint32_t rows) {
    for (const uint32_t layer : {0u, 2u}) {
      SequenceState::Kda& kda = state.kda(layer);
      for (const backend::Tensor tensor :
           {kda.state, kda.q_history, kda.k_history, kda.v_history}) {
        std::vector<float> values(tensor.size());
        for (float& value : values) value = start++;
        backend_->upload(values, tensor);
      }
    }
    const backend::Tensor added = state.mla(1).cache.slice(state.length(), rows);
    std::vector<float> values(added.size());
    for (float& value : values) value = start++;
    backend_->upload(values, added);
    state.advance(rows);
  }

  std::vector<float> everything(SequenceState& state) {
    std::vector<float> all;
    for (const uint32_t layer : {0u, 2u}) {
      SequenceState::Kda& kda = state.kda(layer);
      for (const backend::Tensor tensor :
           {kda.state, kda.q_history, kda.k_history, kda.v_history}) {
        for (const float value : numbers(*backend_, tensor)) all.push_back(value);
      }
    }
    for (const float value : numbers(*backend_, state.mla(1).cache.slice(0, state.length())))
      all.push_back(value);
    return all;
  }

  std::filesystem::path file(const char* name) {
    return std::filesystem::path(SLUICE_BINARY_DIR) / name;
  }

  const ModelShape shape_ = small_shape();
  const std::unique_ptr<backend::Backend> backend_ = backend::make_reference_backend();
};

TEST_F(SequenceStateTest, CutRestoresTheSavedPoint) {
  SequenceState state(shape_, *backend_, 10, kFingerprint);
  fill(state, 1, 4);
  const std::vector<float> before = everything(state);
  const SequenceState::SavedPoint point = state.save_point();
  fill(state, 1000, 3);
  EXPECT_NE(everything(state), before);
  state.cut(point);
  EXPECT_EQ(state.length(), 4u);
  EXPECT_EQ(everything(state), before);
}

TEST_F(SequenceStateTest, ClearForgets) {
  SequenceState state(shape_, *backend_, 10, kFingerprint);
  fill(state, 1, 4);
  state.clear();
  EXPECT_EQ(state.length(), 0u);
  for (const float value : everything(state)) EXPECT_EQ(value, 0.0f);
}

TEST_F(SequenceStateTest, BytesAreWhatIsReserved) {
  const uint64_t kda = 8 * 4 + 3 * 3 * 8, mla = 10 * 8;
  EXPECT_EQ(SequenceState::bytes(shape_, 8, 10), 8 * (2 * kda + mla));
}

TEST_F(SequenceStateTest, SaveAndLoad) {
  SequenceState state(shape_, *backend_, 10, kFingerprint);
  fill(state, 1, 4);
  state.save(file("saved.state"));
  SequenceState other(shape_, *backend_, 4, kFingerprint);
  fill(other, 500, 2);
  other.load(file("saved.state"));
  EXPECT_EQ(other.length(), 4u);
  EXPECT_EQ(everything(other), everything(state));
}

TEST_F(SequenceStateTest, RefusesDamagedFiles) {
  SequenceState state(shape_, *backend_, 10, kFingerprint);
  fill(state, 1, 4);
  state.save(file("good.state"));
  std::ifstream in(file("good.state"), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  for (size_t bytes :
       {size_t{0}, size_t{7}, size_t{47}, size_t{48}, good.size() - 1, good.size() + 1}) {
    std::string bad = good;
    bad.resize(bytes, 'x');
    std::ofstream(file("bad.state"), std::ios::binary) << bad;
    EXPECT_THROW(state.load(file("bad.state")), Error) << bytes << " bytes";
  }
  for (const size_t at :
       {0u, 8u, 12u, 16u, 24u, 28u, 32u, 40u, 49u}) {  // Each field of the header, then a number.
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    std::ofstream(file("bad.state"), std::ios::binary) << bad;
    EXPECT_THROW(state.load(file("bad.state")), Error) << "byte " << at;
  }
  SequenceState small(shape_, *backend_, 3, kFingerprint);
  EXPECT_THROW(small.load(file("good.state")), Error);
  ModelShape wider = shape_;
  wider.kv_lora = 6;
  SequenceState other(wider, *backend_, 10, kFingerprint);
  EXPECT_THROW(other.load(file("good.state")), Error);
  EXPECT_THROW(state.load(file("absent.state")), Error);
  EXPECT_THROW(state.save(file("no-such-folder") / "x.state"), Error);
}

}  // namespace
}  // namespace sluice::model
