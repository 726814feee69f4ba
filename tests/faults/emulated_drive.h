#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::faults {

/// A file, whole in memory: the rate of a drive may depend on nothing below it.
struct DriveFile {
  std::string name;
  std::span<const char> content;
};

/// Who asked for bytes, and gets one of the two.
class DriveClient {
 public:
  virtual ~DriveClient() = default;
  virtual void give(void* request, std::span<const char> bytes) = 0;
  virtual void refuse(void* request, int error) = 0;
};

/// The files of a folder as those of a slow drive that may fail. Used by one thread, which calls
/// answer_due() when next_due() has come.
class EmulatedDrive {
 public:
  using Clock = std::chrono::steady_clock;

  /// The lines that obey() knows.
  static const char* const kCommands;

  /// Holds the files that the folder has now. Ends the program with a message when one cannot be
  /// read.
  EmulatedDrive(const std::filesystem::path& folder, DriveClient& client);

  [[nodiscard]] const std::vector<DriveFile>& files() const { return files_; }
  [[nodiscard]] bool gone() const { return gone_; }
  /// Carries a command out. Returns the line that answers it.
  std::string obey(const std::string& command);
  /// A read begins; the client hears of `request` when it is due.
  void start(void* request, size_t file, uint64_t offset, uint64_t bytes);
  void answer_due();
  /// When answer_due() has something to do; nothing: not before another call.
  [[nodiscard]] std::optional<Clock::time_point> next_due() const;
  /// Refuses all that wait.
  void refuse_all();

 private:
  struct Fault {
    enum class Kind : uint8_t { kError, kShort, kEmpty, kFlip };
    Kind kind;
    std::string file;  // "*": any.
    uint64_t first = 0, end = 0, times = 0;
  };
  struct Read {
    void* request = nullptr;
    size_t file = 0;
    uint64_t offset = 0, bytes = 0;
    Clock::time_point due;
  };

  bool set_fault(const std::string& word, std::istream& rest);
  bool set_state(const std::string& word, std::istream& rest);
  void answer(const Read& read);
  void obey_later_commands();

  DriveClient& client_;
  const std::vector<DriveFile> files_;
  std::deque<Read> waiting_;     // In the order in which they are due.
  Clock::time_point free_at_{};  // When the last byte of the reads so far has come.
  double seconds_per_byte_ = 0;
  std::chrono::microseconds latency_{0};
  bool gone_ = false;
  std::vector<Fault> faults_;
  std::multimap<uint64_t, std::string> later_;  // Commands by the read that they come after.
  uint64_t reads_ = 0, bytes_ = 0;              // Answered,
  uint64_t faulty_ = 0;                         // and of them, those that a fault touched.
};

}  // namespace sluice::faults
