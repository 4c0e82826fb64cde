/* SPDX-License-Identifier: Apache-2.0
 *
 * When the next request of a job comes, guessed from when the ones before came, and said only where
 * guesses have been right. Each guess is a rule for the gap to the next arrival:
 *
 *   mean     as long as gaps are on average: a period whose jitter adds up
 *   phase    a period that is kept to in spite of jitter: less what this arrival was late
 *   lag n    as the gap n arrivals ago: a pattern of n gaps
 *
 * A guess that is right by a sixteenth of itself scores one, to 24, else it loses 16, and six is
 * what it takes to be believed: one that is right by chance, as of a Poisson process, or four times
 * in five, does not come to it; one that is nearly always right gets over a change of phase; and
 * where a pattern ends none is believed after two. Of those believed the one counts that errs
 * least. It is said with a window, of a quarter more than the errors were lately at most, and not
 * said where that is more than the sixteenth.
 *
 * Bounded, O(1) an arrival. Pure. Owner: the policy.
 */
#ifndef DAEMON_SCHED_POLICY_ARRIVAL_H
#define DAEMON_SCHED_POLICY_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#define ARRIVAL_LAGS 32u
#define ARRIVAL_FOLLOWS 16u
enum { ARRIVAL_MEAN, ARRIVAL_LAG, ARRIVAL_PHASE = ARRIVAL_LAG + ARRIVAL_LAGS, ARRIVAL_GUESSES };

struct arrival_guess {
    uint32_t gap_us;    /* to the next arrival; 0: none yet */
    uint32_t errors_us; /* a mean that follows, of those that were right, times ARRIVAL_FOLLOWS */
    uint32_t score;
};

/* A job's requests; zeroed, nothing is known. */
struct arrival {
    uint64_t last_ns;
    uint64_t next_ns, error_ns; /* it comes then, by so much more or less; 0: nobody knows */
    uint32_t count;             /* gaps seen */
    uint32_t mean_us;
    uint32_t best_us;               /* the gap that is believed; 0: none is */
    uint32_t window_us;             /* the largest error lately of those believed and right */
    uint32_t gaps_us[ARRIVAL_LAGS]; /* the latest, a ring */
    struct arrival_guess guesses[ARRIVAL_GUESSES];
};

/* A request came. */
void arrival_came(struct arrival *a, uint64_t now_ns);

/* The next one is expected, and not overdue. */
static inline bool arrival_expected(const struct arrival *a, uint64_t now_ns) {
    return now_ns < a->next_ns + a->error_ns;
}

#endif
