/* SPDX-License-Identifier: Apache-2.0
 *
 * Guesses are scored as in a branch predictor: all at every arrival, and one of them is used.
 */
#include "daemon/sched/policy/arrival.h"

#include <stddef.h>

#define RIGHT_PART                                                                            \
    16u             /* divisor of the gap: a guess is right if its error is at most this part \
                     */
#define LOST 16u    /* score that a wrong guess loses */
#define BELIEVED 6u /* score from which a guess is trusted */
#define SCORE_MOST 24u
#define LEAST_US 20u /* smallest error that is assumed, since hosts are no more exact */

static uint32_t apart(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}

static bool judge(struct arrival_guess *g, uint32_t gap_us) {
    uint32_t error_us = apart(gap_us, g->gap_us);
    if (g->gap_us == 0 || error_us > g->gap_us / RIGHT_PART) {
        g->score = g->score > LOST ? g->score - LOST : 0;
        return false;
    }
    g->score += g->score < SCORE_MOST;
    g->errors_us += error_us - g->errors_us / ARRIVAL_FOLLOWS;
    return true;
}

/* Updates the error window with the error of the guess that was used. The window shrinks as smaller
 * errors follow. */
static void judge_best(struct arrival *a, uint32_t gap_us) {
    uint32_t error_us = apart(gap_us, a->best_us);
    if (a->best_us == 0 || error_us > a->best_us / RIGHT_PART) return;
    a->window_us -= a->window_us / ARRIVAL_FOLLOWS;
    if (error_us > a->window_us) a->window_us = error_us;
}

/* `late_us`: delay of the arrival against the phase guess; the next guess makes up for three
 * quarters of it. */
static void guess_all(struct arrival *a, int64_t late_us) {
    uint32_t most = a->count < ARRIVAL_LAGS ? a->count : ARRIVAL_LAGS;
    int64_t phase_us = (int64_t)a->mean_us - late_us * 3 / 4;
    a->guesses[ARRIVAL_MEAN].gap_us = a->mean_us;
    a->guesses[ARRIVAL_PHASE].gap_us = phase_us > 0 ? (uint32_t)phase_us : 0;
    for (uint32_t lag = 1; lag <= most; lag++)
        a->guesses[ARRIVAL_LAG + lag - 1].gap_us = a->gaps_us[(a->count - lag) % ARRIVAL_LAGS];
}

/* Returns the trusted guess with the smallest errors, or NULL. */
static const struct arrival_guess *believed(const struct arrival *a) {
    const struct arrival_guess *best = NULL;
    for (uint32_t i = 0; i < ARRIVAL_GUESSES; i++) {
        const struct arrival_guess *g = &a->guesses[i];
        if (g->score >= BELIEVED && g->gap_us && (!best || g->errors_us < best->errors_us))
            best = g;
    }
    return best;
}

/* Updates the mean. A gap unlike the others is ignored while the mean is trusted. */
static void learn_mean(struct arrival *a, uint32_t gap_us) {
    bool right = judge(&a->guesses[ARRIVAL_MEAN], gap_us);
    if (a->count == 0)
        a->mean_us = gap_us;
    else if (right || a->guesses[ARRIVAL_MEAN].score < BELIEVED)
        a->mean_us = a->mean_us - a->mean_us / 8 + gap_us / 8;
}

static void learn(struct arrival *a, uint32_t gap_us) {
    struct arrival_guess *phase = &a->guesses[ARRIVAL_PHASE];
    int64_t late_us = (int64_t)gap_us - phase->gap_us;
    learn_mean(a, gap_us);
    for (uint32_t i = ARRIVAL_LAG; i < ARRIVAL_PHASE; i++)
        judge(&a->guesses[i], gap_us);
    if (!judge(phase, gap_us)) late_us = 0;
    a->gaps_us[a->count++ % ARRIVAL_LAGS] = gap_us;
    guess_all(a, late_us);
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static void say(struct arrival *a, const struct arrival_guess *g) {
    uint32_t most_us = larger(a->window_us, 2 * g->errors_us / ARRIVAL_FOLLOWS);
    uint32_t error_us = larger(most_us + most_us / 4, LEAST_US);
    a->best_us = g->gap_us;
    if (error_us > g->gap_us / RIGHT_PART) return;
    a->next_ns = a->last_ns + g->gap_us * 1000ull;
    a->error_ns = error_us * 1000ull;
}

void arrival_came(struct arrival *a, uint64_t now_ns) {
    uint64_t since_us = (now_ns - a->last_ns) / 1000;
    uint32_t gap_us = since_us < UINT32_MAX ? (uint32_t)since_us : UINT32_MAX;
    if (a->last_ns) {
        judge_best(a, gap_us);
        learn(a, gap_us);
    }
    const struct arrival_guess *g = believed(a);
    a->last_ns = now_ns;
    a->next_ns = a->error_ns = a->best_us = 0;
    if (g) say(a, g);
}
