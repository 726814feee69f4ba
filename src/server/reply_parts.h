#pragma once
#include "text/reply.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server {

/// A stretch of a reply, for interfaces whose answers are lists of such.
struct ReplyPart {
  enum class Kind : uint8_t { kReasoning, kText, kCall };
  Kind kind;
  std::string name{};  ///< Of the tool of kCall.
  std::string text{};  ///< What there is so far; of kCall, the arguments.
};

/// Hears how the parts of a reply come to be, one after the other.
class ReplyPartSink {
 public:
  virtual ~ReplyPartSink() = default;
  virtual void begin_part(const ReplyPart& part) = 0;
  /// `text` is the new end of it, and not empty.
  virtual void grow_part(const ReplyPart& part, std::string_view text) = 0;
  virtual void end_part(const ReplyPart& part) = 0;
};

/// Cuts a reply into parts. Reasoning and text are never empty, and a part ends where another
/// begins or the reply ends: a call too, since only then it is clear that it was not cut off.
class ReplyParts {
 public:
  /// `sink` must outlive this.
  explicit ReplyParts(ReplyPartSink& sink) : sink_(sink) {}

  void add(const text::ReplyEvent& event);
  /// The reply has ended.
  void finish();

 private:
  void begin(ReplyPart part);
  void grow(const std::string& text);
  void grow_kind(ReplyPart::Kind kind, const std::string& text);

  ReplyPartSink& sink_;
  std::optional<ReplyPart> open_;
};

}  // namespace sluice::server
