#pragma once
#include "backend/backend.h"
#include "model/shape.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::model {

/// What one sequence has accumulated: KDA states, convolution histories and MLA cache rows. All
/// memory is reserved by the constructor. One thread uses it at a time.
class SequenceState {
 public:
  /// Room for `context` tokens. `shape` and `backend` must outlive it. `fingerprint` says whose
  /// numbers these are: LoadedModel::fingerprint().
  SequenceState(const ModelShape& shape, backend::Backend& backend, uint32_t context,
                uint64_t fingerprint);
  ~SequenceState();
  SequenceState(const SequenceState&) = delete;
  SequenceState& operator=(const SequenceState&) = delete;

  [[nodiscard]] uint32_t length() const { return length_; }    ///< Tokens seen.
  [[nodiscard]] uint32_t context() const { return context_; }  ///< Tokens that fit.
  /// A pass or a load() was interrupted: the contents belong to no length. Only clear(), load() and
  /// cut() (KDA is restored, and MLA rows past the length are dropped anyway) lead back.
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  /// Bytes that the constructor reserves.
  [[nodiscard]] static uint64_t bytes(const ModelShape& shape, uint32_t element_bytes,
                                      uint32_t context);

  /// Forgets everything.
  void clear();

  /// The recurrent part at one length, to which a sequence can be cut back. KDA cannot be rewound,
  /// so only a saved point can be returned to; MLA rows are simply dropped.
  class SavedPoint {
   public:
    [[nodiscard]] uint32_t length() const { return length_; }

   private:
    friend class SequenceState;
    uint32_t length_ = 0;
    std::vector<std::byte> recurrent_;
  };
  /// Takes as much memory as the recurrent state (465 MB for K3), which the caller must have room
  /// for.
  [[nodiscard]] SavedPoint save_point() const;
  /// Cuts the sequence to a point saved from it at or before its present length.
  void cut(const SavedPoint& point);
  /// Becomes what `other`, of the same model and context, was at a point that was saved from it.
  void copy_from(const SequenceState& other, const SavedPoint& point);
  /// Bytes that a point takes.
  [[nodiscard]] static uint64_t point_bytes(const ModelShape& shape, uint32_t element_bytes);

  /// Writes all of it to a file, which appears whole or not at all. Throws Error(kIo), and
  /// Error(kInvalidInput) for an interrupted state.
  void save(const std::filesystem::path& path) const;
  /// Reads what save() wrote. Throws Error that names the file: kInvalidInput when it is of another
  /// checkpoint, backend precision or mla_norm_epsilon, kCorrupt when it is damaged, kOutOfMemory
  /// when it does not fit the context.
  void load(const std::filesystem::path& path);

  struct Kda {
    backend::Tensor state;                            ///< [P, head_dim]
    backend::Tensor q_history, k_history, v_history;  ///< [conv_width - 1, P]
  };
  struct Mla {
    backend::Tensor cache;  ///< [context, kv_lora + rope]
  };
  Kda& kda(uint32_t layer) { return kda_[slot_of_[layer]]; }
  Mla& mla(uint32_t layer) { return mla_[slot_of_[layer]]; }
  /// The forward pass says that it starts to change the contents, and that it has added `rows`
  /// tokens.
  void begin_pass() { interrupted_ = true; }
  void advance(uint32_t rows);

 private:
  [[nodiscard]] std::vector<backend::Tensor> recurrent_tensors() const;
  [[nodiscard]] std::vector<backend::Tensor> tensors(
      uint32_t length) const;  // All that a length needs.
  [[nodiscard]] uint64_t recurrent_bytes() const;
  void copy_recurrent_to(std::byte* to) const;
  void copy_recurrent_from(const std::byte* from);
  struct Header;
  [[nodiscard]] Header header() const;
  void check(const Header& header, const std::string& path) const;

  const ModelShape& shape_;
  backend::Backend& backend_;
  const uint32_t context_;
  const uint64_t fingerprint_;
  uint32_t length_ = 0;
  bool interrupted_ = false;
  std::vector<uint32_t> slot_of_;  // Layer to index into kda_ or mla_.
  std::vector<Kda> kda_;
  std::vector<Mla> mla_;
};

}  // namespace sluice::model
