#pragma once
#include "base/types.h"
#include "engine/engine.h"
#include "server/http.h"
#include "server/metrics.h"
#include "server/problem.h"
#include "server/reply_run.h"

#include <chrono>
#include <string_view>

namespace sluice::server {

/// Makes the answer of one interface of what happens to a reply: a writer that streams sends as it
/// learns, one that does not sends all in end(). Used by one thread.
class ReplyWriter {
 public:
  virtual ~ReplyWriter() = default;
  /// The reply has been accepted; a stream sends its headers and first event.
  virtual void begin() = 0;
  virtual void take(const ReplyUpdate& update) = 0;
  /// Comes at regular times until the reply is over, so that nobody takes silence for the end.
  virtual void keep_alive(const engine::RequestProgress& progress) = 0;
  /// The prompt is being run: at most once a second, for clients that asked to be told.
  virtual void progress(const engine::RequestProgress&) {}
  /// All choices have ended well.
  virtual void end() = 0;
  /// An error ends the whole.
  virtual void fail(const Problem& problem) = 0;
};

struct WritingOptions {
  Nanos keep_alive = std::chrono::seconds(10);
};

/// Moves what happens to a reply to its writer until all is written or the client is gone, and then
/// tells `metrics`.
void write_reply(ReplyRun& run, ReplyWriter& writer, const HttpReply& reply,
                 const WritingOptions& options, Metrics& metrics);

/// An answer of server-sent events.
class EventStream {
 public:
  explicit EventStream(HttpReply& reply) : reply_(reply) {}

  void begin(HttpHeaders headers = {});
  void data(std::string_view json);
  void event(std::string_view name, std::string_view json);
  /// What clients skip.
  void comment(std::string_view text);

 private:
  HttpReply& reply_;
};

}  // namespace sluice::server
