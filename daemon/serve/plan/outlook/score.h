/* SPDX-License-Identifier: Apache-2.0
 *
 * The priority of a request (thesis, section 4.4.1): the expected additional cost of delaying it
 * instead of running it now, per ms of its batch,
 *
 *     p(t) = (E[C_delay(t)] - E[C_now(t)]) / E[L],                                        (4.1)
 *
 * where missing a deadline D costs c = 1 and the delay is exponential with parameter b. L is the
 * time of its batch, a histogram. A bin [l1, l2] of frequency h adds (4.2)
 *
 *     h / (E[L] b) (e^(b l2) - e^(b l1)) e^(-bD) e^(bt)   while t < D - l2,
 *     h / (E[L] b) (1 - e^(b l1) e^(-bD) e^(bt))          while D - l2 <= t < D - l1,
 *     0                                                   from then on.
 *
 * Here h is a density: by (4.1), a bin of probability P adds the integral over l of P / (l2 - l1)
 * e^(-b (D - t - l)) / E[L]. For bins of equal width P can replace h; our bins differ in width.
 *
 * Bins are adjacent, so at most one has the second form at any time. The sum is therefore again
 * alpha e^(bt) + beta: a point. The point changes only when a bin changes its form, at a milestone.
 *
 * All requests with the same shape of L share a table of these points, over the remaining time r =
 * D - t. Piece i holds while from_ns < r <= the next piece's from_ns, and
 *
 *     p = a e^(b (from - r)) + beta,   alpha = a e^(b (from - D)).
 *
 * Each a is relative to its piece's beginning, so that no exponent in the table is positive and
 * nothing overflows, whatever b and L are.
 *
 * Only e^(bt) can overflow: t and D are relative to a base, which is moved in time (section 4.4.4).
 *
 * Owner: the holder. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_SCORE_H
#define DAEMON_SERVE_PLAN_OUTLOOK_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#define SCORE_B_PER_MS 1e-4
#define SCORE_EXPONENT_MOST 300.0 /* b (t - base) at which the base must be moved */
#define SCORE_NEVER UINT64_MAX

struct score_piece {
    uint64_t from_ns;
    double a, beta;
};

struct score_shape {
    struct score_piece *pieces; /* the caller's: space for 2 * bins */
    uint32_t count;
};

/* The time scale of scores. */
struct score_clock {
    double b_per_ns;
    uint64_t base_ns;
};

struct score_point {
    double alpha, beta;
    uint64_t until_ns; /* the next milestone; SCORE_NEVER: no change */
};

/* `mass[i]` is the probability that the batch takes between edges[i] and edges[i + 1], in ns
 * ascending. `mean_ns` is E[L], above 0. */
void score_build(struct score_shape *s, const uint64_t *edges, const double *mass, uint32_t bins,
                 double mean_ns, double b_per_ns);

/* The point of a request with this deadline at `now_ns`, which is not before the base. */
struct score_point score_at(const struct score_shape *s, const struct score_clock *clock,
                            uint64_t deadline_ns, uint64_t now_ns);

/* e^(bt), the x at which a point's value is alpha x + beta. */
double score_x(const struct score_clock *clock, uint64_t now_ns);
/* Tests whether the base must be moved; then every point must be recomputed. */
bool score_outgrown(const struct score_clock *clock, uint64_t now_ns);

#endif
