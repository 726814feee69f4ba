#include "server/live_view.h"

#include "server/live_figures.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::server {
namespace {

using Clock = std::chrono::steady_clock;

// Looking at all experts takes the streamer's mutex for long, as that goes.
constexpr Nanos kHeldInterval = std::chrono::seconds(1);

ReadWatch::Layout layout_of(const model::LoadedModel& loaded) {
  const model::ModelShape& shape = loaded.shape();
  const uint32_t dense = shape.dense_layers;
  ReadWatch::Layout layout{.drives = loaded.drives().drive_count(),
                           .layers = shape.layers - dense,
                           .experts = shape.experts};
  if (layout.layers > 0) layout.first_expert = {loaded.weights().layers[dense].moe.first_expert};
  return layout;
}

}  // namespace

struct LiveView::Impl {
  ReadWatch watch;
  const Clock::time_point started = Clock::now();

  std::mutex mutex;  // Guards what follows.
  DriveRates rates;
  std::vector<bool> held;
  Clock::time_point held_at{};

  [[nodiscard]] LiveFigures figures(const ServedModel& model) const {
    return {.uptime = Clock::now() - started,
            .engine = model.engine.status(),
            .reading = stream::ReadingCounters::of(model.loaded.streamer()),
            .watched = watch.watched(model.loaded.drives().now())};
  }
  [[nodiscard]] LiveFigures recent_figures(const ServedModel& model) {
    const std::lock_guard lock(mutex);
    LiveFigures all = figures(model);
    all.rates = rates.next(model.loaded.drives().now(), all.reading.drives);
    if (held.empty() || Clock::now() - held_at >= kHeldInterval) {
      const ReadWatch::Layout layout = layout_of(model.loaded);
      held_at = Clock::now();
      held = model.loaded.streamer().held(layout.first_expert,
                                          static_cast<uint32_t>(layout.layers) * layout.experts);
    }
    all.held = held;
    return all;
  }
};

LiveView::LiveView() : impl_(std::make_unique<Impl>()) {}
LiveView::~LiveView() = default;

void LiveView::attach(model::LoadOptions& options) {
  options.reading.on_event =
      [this, others = std::move(options.reading.on_event)](const stream::StreamerEvent& event) {
        if (others) others(event);
        impl_->watch.take(event);
      };
}

void LiveView::begin(model::LoadedModel& loaded) {
  impl_->watch.begin(layout_of(loaded));
  const std::lock_guard lock(impl_->mutex);
  (void)impl_->rates.next(loaded.drives().now(), loaded.streamer().drive_counters());
}

std::string LiveView::json(const ServedModel& model) const {
  return live_json(model, impl_->recent_figures(model));
}

std::string LiveView::metrics(const ServedModel& model) const {
  return live_metrics(model, impl_->figures(model));
}

}  // namespace sluice::server
