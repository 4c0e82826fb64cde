/* SPDX-License-Identifier: Apache-2.0
 *
 * The priority of a request (thesis, section 4.4.1): what it is expected to cost more when it is
 * delayed than when it goes now, for each ms of its batch,
 *     p(t) = (E[C_delay(t)] - E[C_now(t)]) / E[L],                                        (4.1)
 * where a missed deadline D costs c = 1 and the delay is exponential with parameter b. L is the
 * time of its batch, a histogram. A bin [l1, l2] of frequency h adds (4.2)
 *
 *     h / (E[L] b) (e^(b l2) - e^(b l1)) e^(-bD) e^(bt)   while t < D - l2,
 *     h / (E[L] b) (1 - e^(b l1) e^(-bD) e^(bt))          while D - l2 <= t < D - l1,
 *     0                                                   from then on.
 *
 * Here h is a density: what a bin of probability P adds by (4.1) is the integral over l of
 * P / (l2 - l1) e^(-b (D - t - l)) / E[L]. Where all bins are as wide P does as well; ours are not.
 *
 * Bins lie side by side, so that at any time one of them at most has the second form, and the sum
 * is again alpha e^(bt) + beta: a point. It moves only when a bin changes its form, at a milestone.
 *
 * All requests of one shape of L share a table of these points, over the time r = D - t that is
 * left: piece i holds while from_ns < r <= the next piece's from_ns, and
 *     p = a e^(b (from - r)) + beta,   alpha = a e^(b (from - D)).
 * Each a is kept relative to its piece's beginning, so that no exponent in the table is positive
 * and nothing overflows, whatever b and L are.
 *
 * Only e^(bt) can: t and D are taken relative to a base, which is moved before (section 4.4.4).
 *
 * Owner: who holds them. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_SCORE_H
#define DAEMON_SERVE_PLAN_OUTLOOK_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#define SCORE_B_PER_MS 1e-4
#define SCORE_EXPONENT_MOST 300.0 /* b (t - base): from there on the base is to be moved */
#define SCORE_NEVER UINT64_MAX

struct score_piece {
    uint64_t from_ns;
    double a, beta;
};

struct score_shape {
    struct score_piece *pieces; /* the caller's: room for 2 * bins */
    uint32_t count;
};

/* What time is in scores. */
struct score_clock {
    double b_per_ns;
    uint64_t base_ns;
};

struct score_point {
    double alpha, beta;
    uint64_t until_ns; /* its next milestone; SCORE_NEVER: it stays */
};

/* `mass[i]`: the probability that the batch takes between edges[i] and edges[i + 1], ns ascending;
 * `mean_ns` is E[L], above 0. */
void score_build(struct score_shape *s, const uint64_t *edges, const double *mass, uint32_t bins,
                 double mean_ns, double b_per_ns);

/* The point of a request with this deadline at `now_ns`, which is not before the base. */
struct score_point score_at(const struct score_shape *s, const struct score_clock *clock,
                            uint64_t deadline_ns, uint64_t now_ns);

/* e^(bt), by which a point is worth alpha e^(bt) + beta. */
double score_x(const struct score_clock *clock, uint64_t now_ns);
/* Whether the base is to be moved: then every point must be made anew. */
bool score_outgrown(const struct score_clock *clock, uint64_t now_ns);

#endif
