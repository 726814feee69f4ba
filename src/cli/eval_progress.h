#pragma once
#include "format/route_trace.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

/// What tells runs apart whose results differ: names, as a message can show them, and values.
using EvalIdentity = std::vector<std::pair<std::string, std::string>>;

/// How far an evaluation has come.
struct EvalState {
  uint64_t done = 0;             ///< Windows or questions.
  uint64_t rows = 0;             ///< Tokens that ran, with those that only gave context.
  double seconds = 0.0;          ///< That they took.
  double log_probability = 0.0;  ///< Of the tokens scored; of texts.
  std::string correct{};         ///< Of questions: '1' for each right answer, '0' for the others.
  uint64_t output_bytes = 0;     ///< Of --output.
  format::RouteTraceMark routes{};
  friend bool operator==(const EvalState&, const EvalState&) = default;
};

/// The file from which an interrupted evaluation goes on. Without a path nothing is kept.
class EvalProgressFile {
 public:
  EvalProgressFile(std::string path, EvalIdentity identity)
      : path_(std::move(path)), identity_(std::move(identity)) {}

  [[nodiscard]] bool wanted() const { return !path_.empty(); }
  /// The state that was saved; that of the start when there is no file. Throws Error that names the
  /// file: kInvalidInput with the first difference when it is of another run, kCorrupt, kIo.
  [[nodiscard]] EvalState load() const;
  /// Replaces the file; see format::OutputFile.
  void save(const EvalState& state) const;

 private:
  void check(const EvalIdentity& saved) const;

  const std::string path_;
  const EvalIdentity identity_;
};

}  // namespace sluice::cli
