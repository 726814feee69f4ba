// Without this test Prometheus would refuse or misread what the server measures.
#include "server/prometheus_text.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

TEST(PrometheusText, CountersAndGaugesWithLabels) {
  PrometheusText text({{"model_name", "k3"}});
  text.counter("reads_total", "Reads, \"good\" ones\nand \\ others.");
  text.sample(uint64_t{18'446'744'073'709'551'615u});
  text.sample(3, {{"folder", "/a \"b\"\\\n"}, {"drive", "0"}});
  text.gauge("share", "A share.");
  text.sample(0.25);
  text.sample(std::numeric_limits<double>::infinity());
  text.sample(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(text.take(), R"(# HELP reads_total Reads, "good" ones\nand \\ others.
# TYPE reads_total counter
reads_total{model_name="k3"} 18446744073709551615
reads_total{model_name="k3",folder="/a \"b\"\\\n",drive="0"} 3
# HELP share A share.
# TYPE share gauge
share{model_name="k3"} 0.25
share{model_name="k3"} +Inf
share{model_name="k3"} NaN
)");
}

TEST(PrometheusText, WithoutLabels) {
  PrometheusText text({});
  text.gauge("a", "b");
  text.sample(1);
  EXPECT_EQ(text.take(), "# HELP a b\n# TYPE a gauge\na 1\n");
}

TEST(PrometheusText, BucketsOfAHistogramHoldThoseBefore) {
  constexpr double kEnds[] = {0.5, 2};
  Histogram histogram(kEnds);
  for (const double value : {0.5, 0.6, 2.0, 2.1, 100.0}) histogram.add(value);
  PrometheusText text({});
  text.histogram("seconds", "Time.");
  text.sample(histogram, {{"drive", "1"}});
  EXPECT_EQ(text.take(), R"(# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{drive="1",le="0.5"} 1
seconds_bucket{drive="1",le="2"} 3
seconds_bucket{drive="1",le="+Inf"} 5
seconds_sum{drive="1"} 105.2
seconds_count{drive="1"} 5
)");
}

}  // namespace
}  // namespace sluice::server
