#include "server/http_outbox.h"

#include <utility>

namespace sluice::server {

HttpOutbox::HttpOutbox(uint64_t unsent_bytes, std::function<void()> wake)
    : unsent_bytes_(unsent_bytes), wake_(std::move(wake)) {}

void HttpOutbox::put(std::string_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    batch_.bytes += bytes;
  }
  wake_();
}

void HttpOutbox::wait_for_room() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return closed_ || batch_.bytes.size() + taken_ <= unsent_bytes_; });
}

void HttpOutbox::finish(bool keep_alive) {
  {
    const std::lock_guard lock(mutex_);
    batch_.last = true;
    batch_.keep_alive = keep_alive;
  }
  wake_();
}

bool HttpOutbox::gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

HttpOutbox::Batch HttpOutbox::take() {
  const std::lock_guard lock(mutex_);
  taken_ += batch_.bytes.size();
  return std::exchange(batch_, {});
}

void HttpOutbox::sent(size_t bytes) {
  const std::lock_guard lock(mutex_);
  taken_ -= bytes;
  room_.notify_one();
}

void HttpOutbox::set_gone() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  room_.notify_one();
}

void HttpOutbox::close() {
  const std::lock_guard lock(mutex_);
  gone_ = closed_ = true;
  batch_.bytes.clear();
  room_.notify_one();
}

}  // namespace sluice::server
