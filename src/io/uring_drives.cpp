#include "io/uring_drives.h"

#if SLUICE_HAS_LIBURING

#include "base/check.h"
#include "base/thread_pool.h"
#include "io/drive_files.h"
#include "io/read_progress.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <liburing.h>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace sluice::io {
namespace {

// What a completion belongs to: the place of a read, or this.
constexpr uint64_t kWakeData = ~uint64_t{0};
// The most that one registered buffer may have.
constexpr size_t kBufferBytesMax = size_t{1} << 30;
constexpr Nanos kDay = std::chrono::hours(24);
// When the kernel has no memory for a request.
constexpr Nanos kPause = std::chrono::milliseconds(10);

__kernel_timespec timespec_of(Nanos time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
}

// The kernel clears a page when it is first touched, which takes longer than reading it may. Reads
// would have that done by the thread that submits them; here all processors do it.
void touch([[maybe_unused]] std::span<std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  constexpr size_t kHugePageBytes = size_t{2} << 20, kGrain = 16;
  ThreadPool pool(default_thread_count());
  pool.parallel_for(round_up(memory.size(), kHugePageBytes) / kHugePageBytes, kGrain,
                    [&](uint32_t, size_t first, size_t end) {
                      const size_t from = first * kHugePageBytes;
                      const size_t to = std::min(end * kHugePageBytes, memory.size());
                      // A refusal costs time only.
                      (void)::madvise(memory.data() + from, to - from, MADV_POPULATE_WRITE);
                    });
#endif
}

/// The ring of the kernel and the event that ends its wait.
class Ring {
 public:
  Ring() = default;
  ~Ring() {
    if (open_) io_uring_queue_exit(&ring_);
    if (event_ >= 0) ::close(event_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// For `entries` requests. Returns why it cannot be; nothing when all is well.
  std::string open(uint32_t entries) {
    event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_ < 0) return std::string("no event for it: ") + std::strerror(errno);
    io_uring_params params{};
    const int result = io_uring_queue_init_params(entries, &ring_, &params);
    if (result == -ENOSYS) return "this system has none";
    if (result == -EPERM) return "not permitted here (kernel.io_uring_disabled, or a container)";
    if (result < 0) return std::strerror(-result);
    open_ = true;
    // A wait with a limit that takes no request of its own.
    if ((params.features & IORING_FEAT_EXT_ARG) == 0) return "Linux is older than 5.11";
    return {};
  }

  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] io_uring* get() { return &ring_; }
  [[nodiscard]] int event() const { return event_; }

 private:
  io_uring ring_{};
  int event_ = -1;
  bool open_ = false;
};

}  // namespace

class UringDrives final : public DriveArray {
 public:
  UringDrives(const std::vector<std::string>& paths, UringOptions options);
  ~UringDrives() override;
  /// Returns why there is no ring; nothing when all is well.
  std::string start();

  [[nodiscard]] size_t file_count() const override { return files_.size(); }
  [[nodiscard]] const std::string& path(FileId file) const override { return files_[file].path(); }
  [[nodiscard]] DriveId drive(FileId file) const override { return files_.drive(file); }
  [[nodiscard]] size_t drive_count() const override { return files_.drive_count(); }
  [[nodiscard]] bool direct(FileId file) const override { return files_[file].direct(); }
  [[nodiscard]] std::string method() const override {
    return registered_.empty() ? "io_uring" : "io_uring with registered memory";
  }
  void use_memory(std::span<std::byte> memory) override;
  void submit(std::span<const Read> reads) override;
  size_t wait(std::span<Completion> out, Nanos timeout) override;
  void wake() override;
  [[nodiscard]] Nanos now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

 private:
  [[nodiscard]] io_uring_sqe& request();
  void watch_event();
  void start_queued();
  void go_on(uint32_t place);
  [[nodiscard]] std::optional<int> buffer_of(std::span<const std::byte> into) const;
  bool collect();
  void enter(Nanos limit);
  void flush();

  const UringOptions options_;
  DriveFiles files_;
  Ring ring_;
  std::span<std::byte> registered_;                     // In buffers of kBufferBytesMax.
  std::deque<Read> queued_;                             // In no request yet.
  std::vector<std::optional<ReadProgress>> under_way_;  // By place, one for each read in flight.
  std::vector<uint32_t> free_;                          // Places without a read.
  std::deque<Completion> done_;
};

UringDrives::UringDrives(const std::vector<std::string>& paths, UringOptions options)
    : options_(options), files_(paths, options.direct), under_way_(options.reads_in_flight) {
  SLUICE_CHECK(options.reads_in_flight >= 1);
  for (uint32_t place = 0; place < options.reads_in_flight; ++place) free_.push_back(place);
}

UringDrives::~UringDrives() {
  queued_.clear();
  while (free_.size() < under_way_.size()) {
    enter(kDay);
    collect();
  }
  // The kernel takes a ring apart in its own time, and until then holds what is registered with it:
  // a file system could not be unmounted. This it does at once.
  if (ring_.is_open()) io_uring_unregister_files(ring_.get());
  use_memory({});
}

std::string UringDrives::start() {
  // One request more watches the event. Completions have room for twice as many, so none is lost.
  if (std::string refusal = ring_.open(options_.reads_in_flight + 1); !refusal.empty()) {
    return refusal;
  }
  std::vector<int> descriptors;
  for (uint16_t f = 0; f < files_.size(); ++f) descriptors.push_back(files_[{f}].descriptor());
  const int result = io_uring_register_files(ring_.get(), descriptors.data(),
                                             static_cast<unsigned>(descriptors.size()));
  if (result < 0) return std::string("it does not take the files: ") + std::strerror(-result);
  // Reads that the kernel can only make by waiting take a thread of it each. It has few, and those
  // of one drive that hangs would keep those of the others from starting.
  std::array<unsigned, 2> threads = {options_.reads_in_flight, 0};
  (void)io_uring_register_iowq_max_workers(ring_.get(), threads.data());
  watch_event();
  flush();
  return {};
}

void UringDrives::use_memory(std::span<std::byte> memory) {
  SLUICE_CHECK(free_.size() == under_way_.size());
  if (!registered_.empty()) io_uring_unregister_buffers(ring_.get());
  registered_ = {};
  std::vector<iovec> buffers;
  for (size_t at = 0; at < memory.size(); at += kBufferBytesMax) {
    buffers.push_back({memory.data() + at, std::min(kBufferBytesMax, memory.size() - at)});
  }
  if (buffers.empty()) return;
  touch(memory);
  if (io_uring_register_buffers(ring_.get(), buffers.data(),
                                static_cast<unsigned>(buffers.size())) == 0) {
    registered_ = memory;
  }
}

void UringDrives::submit(std::span<const Read> reads) {
  check_reads(reads, files_.size());
  queued_.insert(queued_.end(), reads.begin(), reads.end());
  start_queued();
  flush();
}

size_t UringDrives::wait(std::span<Completion> out, Nanos timeout) {
  const Nanos until = now() + std::min(timeout, kDay);
  bool woken = collect();
  for (Nanos left = until - now(); done_.empty() && !woken && left > Nanos(0);
       left = until - now()) {
    enter(left);
    woken = collect();
  }
  flush();
  const size_t count = std::min(out.size(), done_.size());
  std::copy_n(done_.begin(), count, out.begin());
  done_.erase(done_.begin(), done_.begin() + static_cast<ptrdiff_t>(count));
  return count;
}

void UringDrives::wake() {
  const uint64_t one = 1;
  // It fails only when 2^64 - 2 calls have not been answered.
  SLUICE_CHECK(::write(ring_.event(), &one, sizeof one) == sizeof one);
}

// There is always room: each place and the event have one request at a time.
io_uring_sqe& UringDrives::request() {
  io_uring_sqe* const entry = io_uring_get_sqe(ring_.get());
  SLUICE_CHECK(entry != nullptr);
  return *entry;
}

// Takes in the calls of wake() so far and waits for the next: one that comes in between is found by
// the new request at once.
void UringDrives::watch_event() {
  uint64_t calls = 0;
  (void)!::read(ring_.event(), &calls, sizeof calls);  // Nothing there is as good.
  io_uring_sqe& entry = request();
  io_uring_prep_poll_add(&entry, ring_.event(), POLLIN);
  io_uring_sqe_set_data64(&entry, kWakeData);
}

void UringDrives::start_queued() {
  while (!queued_.empty() && !free_.empty()) {
    const Read& read = queued_.front();
    const uint32_t place = free_.back();
    free_.pop_back();
    under_way_[place].emplace(read, files_[read.file]);
    queued_.pop_front();
    go_on(place);
  }
}

// Makes the next call of a read, or ends it.
void UringDrives::go_on(uint32_t place) {
  ReadProgress& progress = *under_way_[place];
  const Read& read = progress.read();
  const std::optional<ReadProgress::Call> call = progress.next();
  if (!call) {
    done_.push_back(progress.completion());
    free_.push_back(place);
    return;
  }
  const std::span<std::byte> into =
      call->into.first(std::min(call->into.size(), InputFile::kCallBytesMax));
  const auto bytes = static_cast<unsigned>(into.size());
  io_uring_sqe& entry = request();
  if (const std::optional<int> buffer = buffer_of(into)) {
    io_uring_prep_read_fixed(&entry, read.file.value, into.data(), bytes, call->offset, *buffer);
  } else {
    io_uring_prep_read(&entry, read.file.value, into.data(), bytes, call->offset);
  }
  io_uring_sqe_set_data64(&entry, place);
  entry.flags |= IOSQE_FIXED_FILE;
  // What has no direct reads is copied: by threads of the kernel, not by the one that submits.
  if (!files_[read.file].direct()) entry.flags |= IOSQE_ASYNC;
}

// The registered buffer that holds all of `into`, if one does.
std::optional<int> UringDrives::buffer_of(std::span<const std::byte> into) const {
  const auto address = reinterpret_cast<uintptr_t>(into.data());
  const auto start = reinterpret_cast<uintptr_t>(registered_.data());
  if (address < start || address + into.size() > start + registered_.size()) return std::nullopt;
  const uint64_t first = (address - start) / kBufferBytesMax;
  const uint64_t last = (address - start + into.size() - 1) / kBufferBytesMax;
  return first == last ? std::optional(static_cast<int>(first)) : std::nullopt;
}

// Takes in what the kernel has done and starts what has room then. True when wake() was called.
bool UringDrives::collect() {
  bool woken = false;
  std::array<io_uring_cqe*, 64> entries{};
  for (;;) {
    const unsigned count = io_uring_peek_batch_cqe(ring_.get(), entries.data(), entries.size());
    if (count == 0) break;
    for (const io_uring_cqe* entry : std::span(entries).first(count)) {
      const uint64_t data = io_uring_cqe_get_data64(entry);
      if (data == kWakeData) {
        woken = true;
        watch_event();
      } else {
        under_way_[data]->advance(entry->res);
        go_on(static_cast<uint32_t>(data));
      }
    }
    io_uring_cq_advance(ring_.get(), count);
  }
  start_queued();
  return woken;
}

// Hands the requests over and waits until something is done, or for `limit`.
void UringDrives::enter(Nanos limit) {
  io_uring_cqe* first = nullptr;
  __kernel_timespec time = timespec_of(limit);
  const int result = io_uring_submit_and_wait_timeout(ring_.get(), &first, 1, &time, nullptr);
  if (result >= 0 || result == -ETIME || result == -EINTR) return;
  // The kernel has no memory for requests now; more comes when something is done, or later.
  SLUICE_CHECK(result == -EAGAIN || result == -EBUSY);
  time = timespec_of(std::min(limit, kPause));
  (void)io_uring_wait_cqe_timeout(ring_.get(), &first, &time);
}

// Hands the requests over. What the kernel does not take now it is offered again in enter().
void UringDrives::flush() {
  if (io_uring_sq_ready(ring_.get()) > 0) (void)io_uring_submit(ring_.get());
}

UringResult make_uring_drives(const std::vector<std::string>& paths, UringOptions options) {
  auto drives = std::make_unique<UringDrives>(paths, options);
  std::string refusal = drives->start();
  if (!refusal.empty()) return {nullptr, std::move(refusal)};
  return {std::move(drives), {}};
}

}  // namespace sluice::io

#else

namespace sluice::io {

UringResult make_uring_drives(const std::vector<std::string>&, UringOptions) {
  return {nullptr, "this build is without liburing"};
}

}  // namespace sluice::io

#endif
