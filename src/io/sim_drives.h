#pragma once
#include "io/drive_array.h"
#include "io/input_file.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::io {

/// How a simulated device serves reads. Times are virtual. A chance is between 0 and 1 and is drawn
/// anew for each read.
struct SimDevice {
  double bytes_per_second = 3e9;  ///< Of all its reads together.
  double rate_jitter = 0;         ///< A transfer takes up to this share longer.
  Nanos latency{80'000};          ///< From the start of a read to its first byte, at least.
  Nanos latency_spread{20'000};   ///< Mean of an exponential addition to it.
  double tail_chance = 0;         ///< That the latency is `tail_factor` times as long.
  double tail_factor = 30;
  uint32_t queue = 32;  ///< Reads that it works on at once; the others wait in order.
  uint64_t throttle_after_bytes = ~uint64_t{0};
  double throttled_share = 0.3;  ///< Of its rate, that it keeps after so many bytes.
  double stall_chance = 0;       ///< That it transfers nothing for a while before a read.
  Nanos stall{50'000'000};

  double error_chance = 0, short_chance = 0, flip_chance = 0, misdirect_chance = 0;
  uint32_t faults_per_place = 1;  ///< Most times that chance spoils reads from one offset.
};

/// What a simulated drive reads.
struct SimFile {
  std::string path;
  /// Must outlive the drives; empty: the file at `path` is read.
  std::span<const std::byte> content{};
  size_t device = 0;  ///< Where it lies; files on one device share its rate and its fate.
  /// Not 0: it has so many bytes and no content. Reads take their time and leave their memory
  /// alone, which need not be there. Then all files of the drives are like that.
  uint64_t hollow_bytes = 0;
};

enum class SimOutcome : uint8_t {
  kInFlight,
  kOk,
  kError,        ///< EIO.
  kShort,        ///< A part of the bytes.
  kFlipped,      ///< One bit is wrong, and nobody says so.
  kMisdirected,  ///< The bytes of another offset, and nobody says so.
  kDead,         ///< ENODEV: the device is gone.
};

/// Spoils the reads that cover a byte of a file.
struct SimFault {
  static constexpr uint32_t kForGood = ~uint32_t{0};
  FileId file;
  uint64_t offset = 0;  ///< Bytes from the start of the file.
  SimOutcome outcome = SimOutcome::kError;
  uint32_t times = 1;  ///< How many reads; or kForGood.
};

/// A time in which a device is gone. Reads under way fail when it begins.
struct SimOutage {
  size_t device = 0;
  Nanos from{}, until = Nanos::max();
};

/// One read, as a history keeps it.
struct SimRead {
  FileId file;
  uint64_t offset = 0, bytes = 0;
  Nanos submitted{}, done{};
  SimOutcome outcome = SimOutcome::kInFlight;
};

struct SimOptions {
  uint64_t seed = 1;
  std::vector<SimDevice> devices{SimDevice{}};
  /// A wait() goes on for up to this long after its first completion, so that several come at once.
  Nanos collect_delay_max{};
  /// For a thread that only wake() may end: wait() with nothing in flight lasts in real time, where
  /// otherwise the timeout passes in virtual time.
  bool idle_waits_for_wake = false;
  bool keep_history = true;  ///< False: history() stays empty, where millions of reads are made.
};

/// Drives whose time is virtual: nothing waits, and whatever happens follows from the seed and the
/// calls, so that both repeat a history. For tests and simulations. Checks that every read obeys
/// the rules of io::Read, and spoils its memory until it is done. Any thread may call the functions
/// that DriveArray does not have.
class SimDrives final : public DriveArray {
 public:
  /// Throws Error that names the file that cannot be opened.
  SimDrives(std::vector<SimFile> files, SimOptions options);
  /// Nothing may be in flight: in a simulation nobody may forget a read (checked).
  ~SimDrives() override;

  [[nodiscard]] size_t file_count() const override { return files_.size(); }
  [[nodiscard]] const std::string& path(FileId file) const override;
  [[nodiscard]] DriveId drive(FileId file) const override;
  [[nodiscard]] size_t drive_count() const override { return options_.devices.size(); }
  [[nodiscard]] bool direct(FileId) const override { return true; }
  [[nodiscard]] bool hollow() const override { return hollow_; }
  [[nodiscard]] std::string method() const override { return "simulated drives"; }
  void submit(std::span<const Read> reads) override;
  size_t wait(std::span<Completion> out, Nanos timeout) override;
  void wake() override;
  [[nodiscard]] Nanos now() const override;

  /// Lets time pass as if the caller had computed: what ends meanwhile waits to be collected.
  void advance(Nanos time);
  void add_fault(const SimFault& fault);
  void add_outage(const SimOutage& outage);
  /// From now on nothing fails: ends added faults and outages, and those of chance.
  void repair();

  /// All reads so far in the order of their submission.
  [[nodiscard]] std::vector<SimRead> history() const;
  /// Differs when any submission or completion, its time or their order does.
  [[nodiscard]] uint64_t history_digest() const;
  [[nodiscard]] uint64_t bytes_in_flight() const;
  [[nodiscard]] uint64_t bytes_in_flight_max() const;

 private:
  struct Device {
    SimDevice model;
    std::mt19937_64 random;
    std::deque<uint64_t> waiting;  // Reads, by their number.
    uint32_t serving = 0;
    uint64_t bytes = 0;  // That it has transferred.
    Nanos free_at{};     // When its last transfer ends.
  };
  struct Flight {
    ReadId id;
    SimRead read;
    std::span<std::byte> into;
    bool served = false;  // The device works on it; else it waits.
    bool lost = false;    // The device is gone.
  };
  enum class EventKind : uint8_t { kTransfer, kDone, kDeath };
  struct Event {
    Nanos at{};
    uint64_t order = 0;  // Of events at the same time.
    EventKind kind = EventKind::kDone;
    uint64_t subject = 0;  // A read, by its number; for kDeath a device.
    friend bool operator>(const Event& a, const Event& b) {
      return std::pair(a.at, a.order) > std::pair(b.at, b.order);
    }
  };
  struct Source {
    SimFile file;
    const InputFile* opened = nullptr;  // Null when the content is in memory.
    uint64_t bytes = 0;
  };

  [[nodiscard]] static double unit(Device& device);
  [[nodiscard]] static Nanos latency(Device& device);
  [[nodiscard]] Device& device_of(const SimRead& read);
  [[nodiscard]] bool dead(size_t device) const;
  void schedule(Nanos at, EventKind kind, uint64_t subject);
  void run_until(Nanos time, bool to_first_completion);
  void admit(size_t device);
  void transfer(uint64_t number);
  void finish(uint64_t number);
  void kill(size_t device);
  [[nodiscard]] SimOutcome fate(const SimRead& read);
  [[nodiscard]] Completion deliver(ReadId id, const SimRead& read, std::span<std::byte> into);
  void copy(const Source& source, uint64_t offset, std::span<std::byte> into) const;
  void log(const SimRead& read);

  const SimOptions options_;
  std::deque<InputFile> opened_;
  std::vector<Source> files_;
  bool hollow_ = false;

  mutable std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::vector<Device> devices_;
  std::mt19937_64 host_random_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t events_scheduled_ = 0;
  uint64_t reads_ = 0;                  // Submitted; they are numbered from 0.
  std::vector<SimRead> history_;        // By number, when it is kept.
  std::map<uint64_t, Flight> flights_;  // Likewise.
  std::deque<Completion> done_;
  std::vector<SimFault> faults_;
  std::vector<SimOutage> outages_;
  std::map<std::pair<FileId, uint64_t>, uint32_t> faults_at_;  // Those of chance, by place.
  bool repaired_ = false, woken_ = false;
  Nanos now_{};
  uint64_t digest_ = 0, bytes_in_flight_ = 0, bytes_in_flight_max_ = 0;
};

}  // namespace sluice::io
