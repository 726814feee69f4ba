// Without these tests a target could be missing, be another one under its name, or differ from the
// others.
#include "kernels/fingerprint.h"
#include "kernels/kernel_table.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sluice::kernels {
namespace {

TEST(Dispatch, ScalarComesFirstAndTheBestLast) {
  ASSERT_FALSE(runnable_kernels().empty());
  EXPECT_EQ(runnable_kernels().front()->target, std::string("scalar"));
  EXPECT_EQ(runnable_kernels().back(), &best_kernels());
  EXPECT_EQ(find_kernels("scalar"), runnable_kernels().front());
}

TEST(Dispatch, FindsExactlyWhatRuns) {
  for (const KernelTable* table : runnable_kernels()) EXPECT_EQ(find_kernels(table->target), table);
  EXPECT_EQ(find_kernels("vax"), nullptr);
  EXPECT_EQ(find_kernels(""), nullptr);
}

TEST(Dispatch, EachTargetHasItsOwnCode) {
  std::set<void (*)(const MatmulShape&, const void*, const float*, float*)> products;
  std::set<std::string> names;
  for (const KernelTable* table : runnable_kernels()) {
    products.insert(table->matmul_bf16);
    names.insert(table->target);
  }
  EXPECT_EQ(products.size(), runnable_kernels().size());
  EXPECT_EQ(names.size(), runnable_kernels().size());
}

TEST(Dispatch, EveryTargetHasTheFingerprintOfAllMachines) {
  for (const KernelTable* table : runnable_kernels()) {
    EXPECT_EQ(fingerprint(*table), kFingerprint) << table->target;
  }
}

}  // namespace
}  // namespace sluice::kernels
