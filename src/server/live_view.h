#pragma once
#include "server/served_model.h"

#include <memory>
#include <string>

namespace sluice::server {

/// Follows what the streamer of a model does, for the live view of the page and for metrics. Any
/// thread.
class LiveView {
 public:
  LiveView();
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// Lets a model that is loaded with these options tell of its reads, besides whom it tells
  /// already; this must outlive it.
  void attach(model::LoadOptions& options);
  /// The model was loaded with them, and nothing has been read yet.
  void begin(model::LoadedModel& loaded);
  /// What the page shows, as one JSON object. Rates are those of the last two seconds, or since the
  /// call before when that is longer ago.
  [[nodiscard]] std::string json(const ServedModel& model) const;
  /// Metrics that come of reads and of memory, as Metrics::text() has others.
  [[nodiscard]] std::string metrics(const ServedModel& model) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::server
