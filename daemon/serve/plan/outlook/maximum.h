/* SPDX-License-Identifier: Apache-2.0
 *
 * The longest of several requests, as a distribution: order statistics over the edges of a
 * histogram (thesis, section 4.4.2). All are padded to it (4.4).
 *
 * For k requests of one distribution F it is F^k (4.6). For different ones the thesis sums
 * densities over all subsets of the batch (4.8, after Oezbey et al.), 2^k - 1 of them. That is the
 * derivative of a product: the largest of independent requests is below l when each of them is, so
 * that its distribution is F_1(l) F_2(l) ... F_k(l). (4.8) writes this product by the identity k!
 * x_1 x_2 ... x_k = sum over subsets s of (-1)^(k - |s|) (sum of x_i in s)^k, with x_i = F_i, |s|
 * F^s = the sum over s of F_i (4.7), and differentiates: the same function, term by term, of which
 * the product takes k multiplications and loses no digits to alternating signs. test_plan_maximum
 * has both.
 *
 * Distributions are arrays of F at histogram_edge(0), ..., (HISTOGRAM_BINS): HISTOGRAM_BINS + 1.
 * Within a bin F is taken to be linear. Pure.
 *
 * Owner: who holds the arrays. Thread: any.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_MAXIMUM_H
#define DAEMON_SERVE_PLAN_OUTLOOK_MAXIMUM_H

#include <stdint.h>

/* A group of requests of one distribution. */
struct maximum_of {
    const double *cdf;
    uint32_t count;
};

/* F of the longest of all at edge `at`: the product of F_i^count. */
double maximum_at(const struct maximum_of *of, uint32_t groups, uint32_t at);

/* E of the longest, ns (the integral of (4.5), by parts: that of 1 - F). "It would be far too
 * inaccurate" to take F at the edges alone: each bin is integrated by Simpson's rule over its
 * halves, exact for up to three requests, and for more within a tenth of a bin. */
double maximum_mean(const struct maximum_of *of, uint32_t groups);

/* The time that `milli` thousandths are within, ns. */
double maximum_quantile(const struct maximum_of *of, uint32_t groups, uint32_t milli);

#endif
