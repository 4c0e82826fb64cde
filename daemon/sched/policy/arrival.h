/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts the next request of a job from its earlier arrivals, and only while predictions have
 * been right. Each guess is a rule for the gap to the next arrival:
 *
 *   mean     the mean gap: fits a period whose jitter accumulates
 *   phase    the mean gap less the delay of this arrival: fits a period without accumulating jitter
 *   lag n    the gap n arrivals ago: fits a pattern of n gaps
 *
 * A guess is right if it errs by at most a sixteenth of itself. A right guess gains one point, up
 * to 24; a wrong one loses 16. A guess is trusted from six points on. A guess that is right by
 * chance, as of a Poisson process, or four times in five, does not reach six points. One that is
 * nearly always right survives a change of phase. Where a pattern ends, no guess is trusted after
 * two arrivals.
 *
 * Among the trusted guesses the one with the smallest errors is used. Its window is a quarter
 * larger than the largest recent error; if that exceeds the sixteenth, nothing is predicted.
 *
 * Bounded, O(1) per arrival. Pure. Owner: the policy.
 */
#ifndef DAEMON_SCHED_POLICY_ARRIVAL_H
#define DAEMON_SCHED_POLICY_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#define ARRIVAL_LAGS 32u
#define ARRIVAL_FOLLOWS 16u
enum { ARRIVAL_MEAN, ARRIVAL_LAG, ARRIVAL_PHASE = ARRIVAL_LAG + ARRIVAL_LAGS, ARRIVAL_GUESSES };

struct arrival_guess {
    uint32_t gap_us;    /* guess of the gap to the next arrival; 0: none yet */
    uint32_t errors_us; /* moving mean of the errors of right guesses, times ARRIVAL_FOLLOWS */
    uint32_t score;
};

/* The arrivals of a job's requests. Zeroed: nothing is known. */
struct arrival {
    uint64_t last_ns;
    uint64_t next_ns, error_ns; /* predicted arrival, plus or minus error_ns; 0: no prediction */
    uint32_t count;             /* gaps seen so far */
    uint32_t mean_us;
    uint32_t best_us;               /* gap that is predicted; 0: none */
    uint32_t window_us;             /* largest recent error of right predictions */
    uint32_t gaps_us[ARRIVAL_LAGS]; /* ring of the latest gaps */
    struct arrival_guess guesses[ARRIVAL_GUESSES];
};

/* Records the arrival of a request. */
void arrival_came(struct arrival *a, uint64_t now_ns);

/* A request is predicted, and not overdue. */
static inline bool arrival_expected(const struct arrival *a, uint64_t now_ns) {
    return now_ns < a->next_ns + a->error_ns;
}

#endif
