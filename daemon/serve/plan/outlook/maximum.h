/* SPDX-License-Identifier: Apache-2.0
 *
 * Distribution of the longest of several requests: order statistics over the edges of a histogram
 * (thesis, section 4.4.2). All requests are padded to the longest (4.4).
 *
 * For k requests with one distribution F the result is F^k (4.6). For different distributions, the
 * thesis sums densities over all subsets of the batch (4.8, after Oezbey et al.), 2^k - 1 of them.
 * That is the derivative of a product: the largest of independent requests is below l if each is,
 * so its distribution is F_1(l) F_2(l) ... F_k(l).
 *
 * (4.8) writes this product by the identity k! x_1 x_2 ... x_k = sum over subsets s of (-1)^(k -
 * |s|) (sum of x_i in s)^k, with x_i = F_i, |s| F^s = the sum over s of F_i (4.7), and
 * differentiates. Both are the same function, term by term. The product takes k multiplications and
 * loses no digits to alternating signs. test_plan_maximum computes both.
 *
 * Distributions are arrays of F at histogram_edge(0), ..., (HISTOGRAM_BINS), with HISTOGRAM_BINS +
 * 1 entries. F is assumed to be linear within a bin. Pure.
 *
 * Owner: the holder of the arrays. Thread: any.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_MAXIMUM_H
#define DAEMON_SERVE_PLAN_OUTLOOK_MAXIMUM_H

#include <stdint.h>

/* A group of requests with one distribution. */
struct maximum_of {
    const double *cdf;
    uint32_t count;
};

/* F of the longest of all at edge `at`: the product of F_i^count. */
double maximum_at(const struct maximum_of *of, uint32_t groups, uint32_t at);

/* Expected longest time in ns, the integral of 1 - F (from (4.5) by parts). "It would be far too
 * inaccurate" to use F only at the edges: each bin is integrated by Simpson's rule over its halves.
 * That is exact for up to three requests, and accurate to a tenth of a bin for more. */
double maximum_mean(const struct maximum_of *of, uint32_t groups);

/* The time in ns that the longest does not exceed in `milli` thousandths of all cases. */
double maximum_quantile(const struct maximum_of *of, uint32_t groups, uint32_t milli);

#endif
