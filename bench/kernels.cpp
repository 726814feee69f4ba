// Kernel speed as a share of what the memory gives: every kernel and a plain sum over the same
// memory take turns in one run, and the best turn of each counts.
#include "base/error.h"
#include "benchmark.h"
#include "cli/options.h"
#include "kernels/fingerprint.h"
#include "kernels/kernel_table.h"
#include "kernels/read_bandwidth.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace {

using sluice::kernels::KernelTable;
using sluice::kernels::MatmulShape;

struct Options {
  uint32_t threads = 1;
  double seconds = 10;
  uint64_t mebibytes = 1024;
  bool json = false;
  std::string target;
};

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};

/// Memory on huge pages where the system gives them.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) {
    constexpr size_t kHuge = size_t{2} << 20;
    const size_t bytes = (count * sizeof(T) + kHuge - 1) / kHuge * kHuge;
    memory_.reset(static_cast<T*>(std::aligned_alloc(kHuge, bytes)));
    madvise(memory_.get(), bytes, MADV_HUGEPAGE);
    std::memset(memory_.get(), 0, bytes);
  }
  T* data() { return memory_.get(); }
  [[nodiscard]] const T* data() const { return memory_.get(); }
  [[nodiscard]] size_t size() const { return count_; }

 private:
  size_t count_;
  std::unique_ptr<T, FreeDeleter> memory_;
};

/// Seconds that `work(thread)` takes on all threads together, from a common start.
double seconds_of(size_t threads, const std::function<void(size_t)>& work) {
  using Clock = std::chrono::steady_clock;
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  std::vector<Clock::time_point> begin(threads);
  std::vector<Clock::time_point> end(threads);
  const auto run = [&](size_t t) {
    start.arrive_and_wait();
    begin[t] = Clock::now();
    work(t);
    end[t] = Clock::now();
  };
  std::vector<std::thread> others;
  for (size_t t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  for (std::thread& other : others) other.join();
  return std::chrono::duration<double>(std::ranges::max(end) - std::ranges::min(begin)).count();
}

/// Something timed: the bytes of memory that it reads (and writes), and its work.
struct Measured {
  std::string name;
  double bytes;
  std::function<void(size_t thread)> work;
  double best_seconds = 1e30;

  [[nodiscard]] double gigabytes_per_second() const { return bytes / best_seconds / 1e9; }
};

class Bench {
 public:
  Bench(const Options& options, const KernelTable& table)
      : options_(options),
        table_(table),
        weights_((options.mebibytes << 20) / 2),
        scales_(weights_.size() / 8),
        packed_(kActivations * sluice::kernels::packed_floats(kBf16Columns, 1024)),
        results_(kActivations * kBf16Rows),
        states_(weights_.size() / 16 / kHead * kHead) {
    uint64_t r = 1;
    for (size_t i = 0; i < weights_.size(); ++i) {
      r = r * 6364136223846793005U + 1442695040888963407U;
      // A BF16 value near 1, and four arbitrary MXFP4 codes.
      weights_.data()[i] = static_cast<uint16_t>(0x3c00U | ((r >> 40) & 0x83ffU));
    }
    std::memset(scales_.data(), 120, scales_.size());
    for (size_t i = 0; i < packed_.size(); ++i) {
      packed_.data()[i] = static_cast<float>(i % 61) * 0.03125F - 0.9F;
    }
    add_all();
  }

  void run() {
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    do {
      ++repetitions_;
      for (Measured& measured : all_) {
        measured.best_seconds =
            std::min(measured.best_seconds, seconds_of(options_.threads, measured.work));
      }
    } while (passed() < options_.seconds);
  }

  void print() const {
    const double ceiling = all_.front().gigabytes_per_second();
    std::string json;
    for (const Measured& measured : all_) {
      const double speed = measured.gigabytes_per_second();
      if (options_.json) {
        json +=
            fmt::format("{}\n    {{\"name\": \"{}\", \"gb_per_s\": {:.3f}, \"of_read\": {:.4f}}}",
                        json.empty() ? "" : ",", measured.name, speed, speed / ceiling);
      } else {
        fmt::print("{:<12} {:8.2f} GB/s  {:5.2f} of read\n", measured.name, speed, speed / ceiling);
      }
    }
    const double mxfp4 = gain("mxfp4 x1", "mxfp4 x8");
    const double bf16 = gain("bf16 x1", "bf16 x8");
    if (options_.json) {
      fmt::print(
          "{{\n  \"target\": \"{}\", \"threads\": {}, \"mebibytes\": {}, \"repetitions\": {},\n"
          "  \"fingerprint\": \"{:016x}\",\n"
          "  \"mxfp4_eight_rows_gain\": {:.3f}, \"bf16_eight_rows_gain\": {:.3f},\n"
          "  \"kernels\": [{}\n  ]\n}}\n",
          table_.target, options_.threads, options_.mebibytes, repetitions_,
          sluice::kernels::fingerprint(table_), mxfp4, bf16, json);
    } else {
      fmt::print("eight rows in one call against eight calls: mxfp4 {:.2f}, bf16 {:.2f}\n", mxfp4,
                 bf16);
      fmt::print("target {}, {} threads, {} repetitions, fingerprint {:016x}\n", table_.target,
                 options_.threads, repetitions_, sluice::kernels::fingerprint(table_));
    }
  }

 private:
  static constexpr size_t kActivations = 8;
  static constexpr size_t kBf16Rows = 12288;
  static constexpr size_t kBf16Columns = 7168;
  static constexpr size_t kExpertRows = 3072;
  static constexpr size_t kExpertColumns = 3584;
  static constexpr size_t kHead = 128 * 128;

  void add_all() {
    add("read", static_cast<double>(weights_.size()) * 2, [this](size_t t) {
      const auto* words = reinterpret_cast<const uint64_t*>(weights_.data());
      const auto [first, end] = share(weights_.size() / 4, t);
      sink_ = sluice::kernels::sum_words({words + first, end - first});
    });
    for (const size_t rows : {size_t{1}, kActivations}) {
      add_mxfp4(rows);
      add_bf16(rows);
    }
    const size_t heads = states_.size() / kHead;
    add("kda_step", static_cast<double>(heads * kHead) * 8, [this, heads](size_t t) {
      const auto [first, end] = share(heads, t);
      std::vector<float> vectors(6 * 128, 0.0625F);
      float* v = vectors.data();
      for (size_t h = first; h < end; ++h) {
        table_.kda_step(states_.data() + h * kHead, v, v + 128, v + 256, v + 384, 0.5F, 128, 128,
                        v + 512, v + 640);
      }
    });
  }

  /// Expert matrices one after another. Eight activation rows do as many products over fewer of
  /// them.
  void add_mxfp4(size_t rows) {
    const size_t bytes = kExpertRows * kExpertColumns / 2;
    const size_t copies = std::max<size_t>(1, weights_.size() * 2 / bytes / rows);
    const size_t row_count = std::min(kExpertRows, weights_.size() * 2 * kExpertRows / bytes);
    const double all =
        static_cast<double>(copies * row_count * (kExpertColumns / 2 + kExpertColumns / 32));
    add(fmt::format("mxfp4 x{}", rows), all, [=, this](size_t t) {
      const auto [first, end] = share(row_count, t);
      const auto* codes = reinterpret_cast<const uint8_t*>(weights_.data());
      for (size_t copy = 0; copy < copies; ++copy) {
        const MatmulShape shape{.w_rows = end - first,
                                .columns = kExpertColumns,
                                .x_rows = rows,
                                .x_stride = sluice::kernels::packed_floats(kExpertColumns, 1024),
                                .y_stride = kBf16Rows};
        table_.matmul_mxfp4(shape, codes + copy * bytes + first * kExpertColumns / 2,
                            scales_.data() + copy * bytes / 16 + first * kExpertColumns / 32,
                            packed_.data(), results_.data() + first);
      }
    });
  }

  void add_bf16(size_t rows) {
    const size_t have = weights_.size() / kBf16Columns / rows;
    const size_t row_count = std::min(kBf16Rows, have);
    const size_t copies = have / row_count;
    add(fmt::format("bf16 x{}", rows), static_cast<double>(copies * row_count * kBf16Columns) * 2,
        [=, this](size_t t) {
          const auto [first, end] = share(row_count, t);
          for (size_t copy = 0; copy < copies; ++copy) {
            const MatmulShape shape{.w_rows = end - first,
                                    .columns = kBf16Columns,
                                    .x_rows = rows,
                                    .x_stride = kBf16Columns,
                                    .y_stride = kBf16Rows};
            table_.matmul_bf16(shape, weights_.data() + (copy * row_count + first) * kBf16Columns,
                               packed_.data(), results_.data() + first);
          }
        });
  }

  void add(std::string name, double bytes, std::function<void(size_t)> work) {
    all_.push_back({std::move(name), bytes, std::move(work)});
  }

  [[nodiscard]] std::pair<size_t, size_t> share(size_t count, size_t thread) const {
    return {count * thread / options_.threads, count * (thread + 1) / options_.threads};
  }

  /// How many times faster `eight` passes its weights per activation row than `one`.
  [[nodiscard]] double gain(std::string_view one, std::string_view eight) const {
    const auto speed = [this](std::string_view name) {
      return std::ranges::find(all_, name, &Measured::name)->gigabytes_per_second();
    };
    return static_cast<double>(kActivations) * speed(eight) / speed(one);
  }

  Options options_;
  const KernelTable& table_;
  Buffer<uint16_t> weights_;
  Buffer<uint8_t> scales_;
  Buffer<float> packed_;
  Buffer<float> results_;
  Buffer<float> states_;
  std::vector<Measured> all_;
  size_t repetitions_ = 0;
  volatile uint64_t sink_ = 0;
};

const KernelTable& find_table(const std::string& target) {
  if (target.empty()) return sluice::kernels::best_kernels();
  if (const KernelTable* table = sluice::kernels::find_kernels(target)) return *table;
  std::vector<std::string_view> targets;
  for (const KernelTable* other : sluice::kernels::runnable_kernels()) {
    targets.emplace_back(other->target);
  }
  throw sluice::Error(sluice::ErrorCode::kInvalidInput,
                      "--target {} is not in this build or not for this processor; there are {}",
                      target, fmt::join(targets, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  sluice::cli::OptionList list;
  list.number({"threads", "N", "that compute"}, options.threads, {1, 1024});
  list.number({"seconds", "S", "to go on"}, options.seconds, {0, 3600});
  list.number({"mebibytes", "N", "of weights"}, options.mebibytes, {1, 1u << 20});
  list.flag({"json", "", "print JSON"}, options.json);
  list.string({"target", "NAME", "instruction set"}, options.target);
  list.describe_default("the best of this processor");
  return sluice::bench::run_main(
      argc, argv, "Speed of the kernels, as a share of what the memory gives.", list, [&] {
        Bench bench(options, find_table(options.target));
        bench.run();
        bench.print();
      });
}
