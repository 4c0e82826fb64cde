/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of distributions.
 */
#include "daemon/serve/plan/outlook/maximum.h"

#include "daemon/serve/plan/outlook/expo.h"
#include "daemon/serve/plan/outlook/histogram.h"

double maximum_at(const struct maximum_of *of, uint32_t groups, uint32_t at) {
    double product = 1;
    for (uint32_t i = 0; i < groups; i++)
        product *= expo_power(of[i].cdf[at], of[i].count);
    return product;
}

/* F of the longest time within a bin, at fraction `part` of the bin. */
static double within(const struct maximum_of *of, uint32_t groups, uint32_t bin, double part) {
    double product = 1;
    for (uint32_t i = 0; i < groups; i++) {
        double begin = of[i].cdf[bin], end = of[i].cdf[bin + 1];
        product *= expo_power(begin + (end - begin) * part, of[i].count);
    }
    return product;
}

static double width_ns(uint32_t bin) {
    return (double)(histogram_edge(bin + 1) - histogram_edge(bin));
}

double maximum_mean(const struct maximum_of *of, uint32_t groups) {
    double mean_ns = 0, begin = maximum_at(of, groups, 0);
    for (uint32_t i = 0; i < HISTOGRAM_BINS && begin < 1; i++) {
        double end = maximum_at(of, groups, i + 1);
        double f = begin;
        if (end > begin)
            f = (begin + 4 * within(of, groups, i, 0.25) + 2 * within(of, groups, i, 0.5) +
                 4 * within(of, groups, i, 0.75) + end) /
                12;
        mean_ns += width_ns(i) * (1 - f);
        begin = end;
    }
    return mean_ns;
}

double maximum_quantile(const struct maximum_of *of, uint32_t groups, uint32_t milli) {
    double want = milli / 1000.0, begin = maximum_at(of, groups, 0);
    for (uint32_t i = 0; i < HISTOGRAM_BINS; i++) {
        double end = maximum_at(of, groups, i + 1);
        if (end > begin && end >= want)
            return (double)histogram_edge(i) + width_ns(i) * (want - begin) / (end - begin);
        begin = end;
    }
    return (double)histogram_edge(HISTOGRAM_BINS);
}
