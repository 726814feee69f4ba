#include "io/sim_drives.h"

#include "base/check.h"
#include "base/digest.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace sluice::io {
namespace {

constexpr std::byte kSpoiled{0xEE};

Nanos from_seconds(double seconds) { return Nanos(static_cast<int64_t>(seconds * 1e9)); }

double to_seconds(Nanos time) { return static_cast<double>(time.count()) * 1e-9; }

Nanos later(Nanos time, Nanos by) { return by > Nanos::max() - time ? Nanos::max() : time + by; }

}  // namespace

SimDrives::SimDrives(std::vector<SimFile> files, SimOptions options)
    : options_(std::move(options)), host_random_(options_.seed) {
  for (SimFile& file : files) {
    SLUICE_CHECK(file.device < options_.devices.size());
    Source source{.file = std::move(file)};
    source.bytes = std::max<uint64_t>(source.file.content.size(), source.file.hollow_bytes);
    hollow_ |= source.file.hollow_bytes > 0;
    if (source.bytes == 0) {
      source.opened = &opened_.emplace_back(source.file.path);
      source.bytes = source.opened->bytes();
    }
    files_.push_back(std::move(source));
  }
  for (const Source& source : files_) SLUICE_CHECK(hollow_ == (source.file.hollow_bytes > 0));
  // A generator for each, so that what one device does leaves the fortune of the others alone.
  for (size_t d = 0; d < options_.devices.size(); ++d) {
    SLUICE_CHECK(options_.devices[d].queue > 0 && options_.devices[d].bytes_per_second > 0);
    devices_.push_back({.model = options_.devices[d],
                        .random = std::mt19937_64(digest_of(options_.seed + 1, d)),
                        .waiting = {}});
  }
}

SimDrives::~SimDrives() { SLUICE_CHECK(flights_.empty()); }

const std::string& SimDrives::path(FileId file) const { return files_[file.value].file.path; }

DriveId SimDrives::drive(FileId file) const {
  return {static_cast<uint16_t>(files_[file.value].file.device)};
}

void SimDrives::submit(std::span<const Read> reads) {
  const std::lock_guard lock(mutex_);
  for (const Read& read : reads) {
    SLUICE_CHECK(read.file.value < files_.size());
    SLUICE_CHECK(read.offset % kBlockBytes == 0 && read.into.size() % kBlockBytes == 0);
    SLUICE_CHECK(reinterpret_cast<uintptr_t>(read.into.data()) % kBlockBytes == 0);
    const Source& source = files_[read.file.value];
    SLUICE_CHECK(read.offset + read.into.size() < source.bytes + kBlockBytes);
    if (!hollow_) {
      std::ranges::fill(
          read.into.first(std::min<uint64_t>(read.into.size(), source.bytes - read.offset)),
          kSpoiled);
    }
    const uint64_t number = reads_++;
    const SimRead noted{
        .file = read.file, .offset = read.offset, .bytes = read.into.size(), .submitted = now_};
    if (options_.keep_history) history_.push_back(noted);
    flights_.emplace(number, Flight{.id = read.id, .read = noted, .into = read.into});
    bytes_in_flight_ += read.into.size();
    bytes_in_flight_max_ = std::max(bytes_in_flight_max_, bytes_in_flight_);
    log(noted);
    devices_[source.file.device].waiting.push_back(number);
    admit(source.file.device);
  }
}

size_t SimDrives::wait(std::span<Completion> out, Nanos timeout) {
  std::unique_lock lock(mutex_);
  if (options_.idle_waits_for_wake && flights_.empty() && done_.empty()) {
    // A standard library adds the timeout to the time of day, which must not overflow.
    changed_.wait_for(lock, std::min<Nanos>(timeout, std::chrono::hours(24)),
                      [&] { return woken_; });
  } else if (!woken_) {
    run_until(later(now_, timeout), true);
    if (!done_.empty() && options_.collect_delay_max > Nanos(0)) {
      const auto range = static_cast<uint64_t>(options_.collect_delay_max.count());
      run_until(now_ + Nanos(static_cast<int64_t>(host_random_() % range)), false);
    }
  }
  woken_ = false;
  const size_t count = std::min(out.size(), done_.size());
  std::copy_n(done_.begin(), count, out.begin());
  done_.erase(done_.begin(), done_.begin() + static_cast<ptrdiff_t>(count));
  return count;
}

void SimDrives::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

Nanos SimDrives::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void SimDrives::advance(Nanos time) {
  const std::lock_guard lock(mutex_);
  run_until(later(now_, time), false);
}

void SimDrives::add_fault(const SimFault& fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(fault);
}

void SimDrives::add_outage(const SimOutage& outage) {
  const std::lock_guard lock(mutex_);
  SLUICE_CHECK(outage.device < devices_.size());
  outages_.push_back(outage);
  schedule(std::max(now_, outage.from), EventKind::kDeath, outage.device);
}

void SimDrives::repair() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
  outages_.clear();
  repaired_ = true;
}

std::vector<SimRead> SimDrives::history() const {
  const std::lock_guard lock(mutex_);
  return history_;
}

uint64_t SimDrives::history_digest() const {
  const std::lock_guard lock(mutex_);
  return digest_;
}

uint64_t SimDrives::bytes_in_flight() const {
  const std::lock_guard lock(mutex_);
  return bytes_in_flight_;
}

uint64_t SimDrives::bytes_in_flight_max() const {
  const std::lock_guard lock(mutex_);
  return bytes_in_flight_max_;
}

// Below 1. Standard distributions differ from library to library; these bits do not.
double SimDrives::unit(Device& device) {
  return static_cast<double>(device.random() >> 11) * 0x1p-53;
}

Nanos SimDrives::latency(Device& device) {
  const SimDevice& model = device.model;
  const double addition = -std::log(1 - unit(device)) * to_seconds(model.latency_spread);
  const double factor = unit(device) < model.tail_chance ? model.tail_factor : 1;
  return from_seconds(factor * (to_seconds(model.latency) + addition));
}

SimDrives::Device& SimDrives::device_of(const SimRead& read) {
  return devices_[files_[read.file.value].file.device];
}

bool SimDrives::dead(size_t device) const {
  return std::ranges::any_of(outages_, [&](const SimOutage& outage) {
    return outage.device == device && outage.from <= now_ && now_ < outage.until;
  });
}

void SimDrives::schedule(Nanos at, EventKind kind, uint64_t subject) {
  events_.push({at, events_scheduled_++, kind, subject});
}

void SimDrives::run_until(Nanos time, bool to_first_completion) {
  while (!events_.empty() && events_.top().at <= time) {
    if (to_first_completion && !done_.empty()) return;
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    switch (event.kind) {
      case EventKind::kTransfer:
        transfer(event.subject);
        break;
      case EventKind::kDone:
        finish(event.subject);
        break;
      case EventKind::kDeath:
        kill(event.subject);
        break;
    }
  }
  if (!to_first_completion || done_.empty()) now_ = time;
}

// Lets the device work on what waits, as far as its queue allows.
void SimDrives::admit(size_t device_index) {
  Device& device = devices_[device_index];
  while (!device.waiting.empty() && device.serving < device.model.queue) {
    const uint64_t number = device.waiting.front();
    device.waiting.pop_front();
    const auto flight = flights_.find(number);
    if (flight == flights_.end()) continue;  // It failed while it waited.
    flight->second.served = true;
    flight->second.lost = dead(device_index);
    ++device.serving;
    schedule(now_ + latency(device), flight->second.lost ? EventKind::kDone : EventKind::kTransfer,
             number);
  }
}

// The bytes of all reads go through one pipe, in the order in which they are found.
void SimDrives::transfer(uint64_t number) {
  const auto flight = flights_.find(number);
  if (flight == flights_.end() || flight->second.lost) return;
  const SimRead& read = flight->second.read;
  Device& device = device_of(read);
  const SimDevice& model = device.model;
  const double share = device.bytes >= model.throttle_after_bytes ? model.throttled_share : 1.0;
  const double seconds = static_cast<double>(read.bytes) / (model.bytes_per_second * share) *
                         (1 + model.rate_jitter * unit(device));
  const Nanos stall = unit(device) < model.stall_chance ? model.stall : Nanos(0);
  device.bytes += read.bytes;
  device.free_at = std::max(now_, device.free_at) + stall + from_seconds(seconds);
  schedule(device.free_at, EventKind::kDone, number);
}

void SimDrives::finish(uint64_t number) {
  const auto found = flights_.find(number);
  if (found == flights_.end()) return;  // It failed when its device died.
  Flight flight = found->second;
  flights_.erase(found);
  SimRead& read = flight.read;
  read.done = now_;
  read.outcome = flight.lost ? SimOutcome::kDead : fate(read);
  if (options_.keep_history) history_[number] = read;
  bytes_in_flight_ -= read.bytes;
  log(read);
  done_.push_back(deliver(flight.id, read, flight.into));
  if (flight.served) --device_of(read).serving;
  admit(files_[read.file.value].file.device);
}

void SimDrives::kill(size_t device) {
  if (!dead(device)) return;  // Repaired before.
  for (auto& [number, flight] : flights_) {
    if (files_[flight.read.file.value].file.device != device) continue;
    flight.lost = true;
    schedule(now_, EventKind::kDone, number);
  }
  devices_[device].free_at = now_;
}

SimOutcome SimDrives::fate(const SimRead& read) {
  for (SimFault& fault : faults_) {
    const bool covers = fault.file == read.file && fault.offset >= read.offset &&
                        fault.offset < read.offset + read.bytes;
    if (!covers || fault.times == 0) continue;
    if (fault.times != SimFault::kForGood) --fault.times;
    return fault.outcome;
  }
  Device& device = device_of(read);
  const SimDevice& model = device.model;
  double left = unit(device);
  for (const auto& [chance, outcome] : {std::pair{model.error_chance, SimOutcome::kError},
                                        {model.short_chance, SimOutcome::kShort},
                                        {model.flip_chance, SimOutcome::kFlipped},
                                        {model.misdirect_chance, SimOutcome::kMisdirected}}) {
    if (left >= chance) {
      left -= chance;
      continue;
    }
    uint32_t& count = faults_at_[{read.file, read.offset}];
    if (repaired_ || count >= model.faults_per_place) break;
    ++count;
    return outcome;
  }
  return SimOutcome::kOk;
}

Completion SimDrives::deliver(ReadId id, const SimRead& read, std::span<std::byte> into) {
  const Source& source = files_[read.file.value];
  Device& device = device_of(read);
  const std::span<std::byte> wanted =
      into.first(std::min<uint64_t>(into.size(), source.bytes - read.offset));
  switch (read.outcome) {
    case SimOutcome::kError:
      return {id, ReadStatus::kIoError, EIO};
    case SimOutcome::kDead:
      return {id, ReadStatus::kIoError, ENODEV};
    case SimOutcome::kShort:
      copy(source, read.offset, wanted.first(device.random() % wanted.size()));
      return {id, ReadStatus::kShort, 0};
    case SimOutcome::kMisdirected: {
      // Any other block of the file, and on from there as far as it goes.
      const uint64_t blocks = round_up(source.bytes, kBlockBytes) / kBlockBytes;
      SLUICE_CHECK(blocks > 1);
      const uint64_t away = 1 + device.random() % (blocks - 1);
      const uint64_t offset = (read.offset / kBlockBytes + away) % blocks * kBlockBytes;
      copy(source, offset, wanted.first(std::min(wanted.size(), source.bytes - offset)));
      return {id, ReadStatus::kOk, 0};
    }
    case SimOutcome::kFlipped: {
      copy(source, read.offset, wanted);
      const uint64_t bit = device.random() % (wanted.size() * 8);
      if (!hollow_) wanted[bit / 8] ^= std::byte{1} << (bit % 8);
      return {id, ReadStatus::kOk, 0};
    }
    case SimOutcome::kOk:
    case SimOutcome::kInFlight:
      break;
  }
  copy(source, read.offset, wanted);
  return {id, ReadStatus::kOk, 0};
}

void SimDrives::copy(const Source& source, uint64_t offset, std::span<std::byte> into) const {
  if (into.empty() || hollow_) return;
  if (source.opened != nullptr) {
    source.opened->read(offset, into);
  } else {
    std::memcpy(into.data(), source.file.content.data() + offset, into.size());
  }
}

void SimDrives::log(const SimRead& read) {
  for (const uint64_t value : {static_cast<uint64_t>(now_.count()), uint64_t{read.file.value},
                               read.offset, read.bytes, static_cast<uint64_t>(read.outcome)}) {
    digest_ = digest_of(digest_, value);
  }
}

}  // namespace sluice::io
