/* SPDX-License-Identifier: Apache-2.0
 *
 * Which evidence counts: marks; else a period of the launches (period.h finds it, pattern.h follows
 * it); else, and wherever the job is not where its period would have it, idle gaps.
 *
 * A gap: the program waited until nothing was queued, and the next launch came GAP_NS later or
 * more, not before a quarter of the time that the work before it took, nor of what gaps take, and
 * at the floor of live memory. A pause in the middle of a request is one of those by chance only
 * (the machine is busy); so gaps count once enough pauses were gaps: eight in a row, or clearly
 * more than one in five of many. And who serves requests comes back to the launches that they begin
 * with, who compiles and tries out kernels, and pauses for that, goes on to others: a gap before a
 * launch that none was before says nothing yet, and two of three must be before known ones.
 *
 * Gaps that count speak against a period of which there are a few between two of them: these are
 * the steps of a request. Many of them are not: then the program pauses now and then to write a
 * log.
 */
#include "daemon/worker/iteration/iteration.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/worker/iteration/pattern.h"
#include "daemon/worker/iteration/period.h"

#define GAP_NS 1000000ull
#define GAP_PART 4
#define GAP_GAIN 4 /* points of a gap; another pause costs one */
#define GAP_LOSS 8 /* that a gap before a launch costs that none was before */
#define GAP_ENOUGH 32
#define GAP_MOST 40
#define GAP_MEAN 8u /* gaps over which the distance is taken */
#define GAP_FIRSTS 1024u

struct iteration {
    uint64_t launches, begun; /* so far; when the latest iteration began */
    uint64_t length;          /* launches of the iteration before it */
    uint64_t low_bytes;       /* least live memory from the latest launch on */
    bool marked;
    bool idle;                 /* since idle_ns */
    uint64_t idle_ns, busy_ns; /* busy_ns: when the work began that idle_ns ended */
    uint64_t gap_mean_ns;      /* of pauses of GAP_NS and more */
    uint32_t gap_points, gap_count;
    uint64_t gap_at[GAP_MEAN];       /* numbers of launches, by gap_count modulo GAP_MEAN */
    uint16_t gap_firsts[GAP_FIRSTS]; /* launches behind gaps, by fingerprint */
    struct period period;
    struct pattern pattern;
};

_Static_assert(sizeof(struct iteration) <= 64 << 10, "64 KiB a job");

int iteration_create(struct iteration **out) {
    *out = calloc(1, sizeof(**out));
    return *out ? 0 : -ENOMEM;
}

void iteration_destroy(struct iteration *it) {
    free(it);
}

static inline void fall(struct iteration *it, uint64_t live_bytes) {
    if (live_bytes < it->low_bytes) it->low_bytes = live_bytes;
}

void iteration_drop(struct iteration *it, uint64_t live_bytes) {
    fall(it, live_bytes);
}

static bool begins_now(struct iteration *it) {
    it->length = it->launches - it->begun;
    it->begun = it->launches;
    return true;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static bool is_long(struct iteration *it, uint64_t gap_ns) {
    uint64_t work_ns = it->idle_ns > it->busy_ns ? it->idle_ns - it->busy_ns : 0;
    uint64_t mean_ns = it->gap_mean_ns, capped_ns = gap_ns;
    if (gap_ns < GAP_NS) return false;
    if (mean_ns && gap_ns > 2 * mean_ns) capped_ns = 2 * mean_ns; /* one is not the rule */
    it->gap_mean_ns = mean_ns ? mean_ns - mean_ns / 8 + capped_ns / 8 : gap_ns;
    return gap_ns >= work_ns / GAP_PART && gap_ns >= mean_ns / GAP_PART;
}

static bool lose_points(struct iteration *it, uint32_t points) {
    it->gap_points -= it->gap_points < points ? it->gap_points : points;
    return false;
}

/* Whether there was a gap before such a launch; now there was. */
static bool is_first_again(struct iteration *it, uint16_t fingerprint) {
    uint16_t *first = &it->gap_firsts[fingerprint % GAP_FIRSTS];
    bool again = *first == fingerprint;
    *first = fingerprint;
    return again;
}

static bool after_gap(struct iteration *it, uint16_t fingerprint, uint64_t now_ns) {
    uint64_t gap_ns = now_ns > it->idle_ns ? now_ns - it->idle_ns : 0;
    if (!it->idle) return false;
    bool gap = is_long(it, gap_ns) && period_at_floor(&it->period);
    it->idle = false;
    it->busy_ns = now_ns;
    if (!gap) return lose_points(it, 1);
    if (!is_first_again(it, fingerprint)) return lose_points(it, GAP_LOSS);
    it->gap_points += GAP_GAIN;
    if (it->gap_points > GAP_MOST) it->gap_points = GAP_MOST;
    it->gap_at[it->gap_count++ % GAP_MEAN] = it->launches;
    return it->gap_points >= GAP_ENOUGH;
}

/* There are 1.5 to PERIOD_REPEATS periods from gap to gap. */
static bool in_steps(const struct iteration *it, uint32_t period) {
    if (it->gap_points < GAP_ENOUGH || it->gap_count < GAP_MEAN) return false;
    uint64_t launches = it->launches - it->gap_at[it->gap_count % GAP_MEAN];
    return launches * 2 > (uint64_t)period * GAP_MEAN * 3 &&
           launches <= (uint64_t)period * GAP_MEAN * PERIOD_REPEATS;
}

/* ---- the period ------------------------------------------------------------------------------ */

static void forget_pattern(struct iteration *it) {
    it->pattern.period = 0;
    period_restart(&it->period);
}

static bool follow_pattern(struct iteration *it, uint16_t fingerprint, uint16_t low) {
    uint32_t period = it->pattern.period;
    bool begins = pattern_step(&it->pattern, fingerprint, low);
    if (it->pattern.period) return begins;
    period_distrust(&it->period, period);
    forget_pattern(it);
    return begins;
}

static bool search_pattern(struct iteration *it) {
    struct period_found found;
    uint64_t gap = it->gap_count ? it->gap_at[(it->gap_count - 1) % GAP_MEAN] : UINT64_MAX;
    if (!period_search(&it->period, gap, &found)) return false;
    if (!in_steps(it, found.period)) return pattern_learn(&it->pattern, &it->period, &found);
    period_refuse(&it->period, found.period);
    return false;
}

void iteration_idle(struct iteration *it, uint64_t now_ns) {
    it->idle = it->launches > 0;
    it->idle_ns = now_ns;
}

/* ---- all ------------------------------------------------------------------------------------- */

bool iteration_launch(struct iteration *it, uint64_t fingerprint, uint64_t live_bytes,
                      uint64_t now_ns) {
    fall(it, live_bytes);
    uint16_t code = period_fingerprint(fingerprint), low = period_low(it->low_bytes);
    it->low_bytes = live_bytes;
    if (!it->launches) it->busy_ns = now_ns;
    bool begins = false;
    if (!it->marked) {
        period_push(&it->period, code, low);
        bool gap = after_gap(it, code, now_ns);
        if (gap && it->pattern.period && in_steps(it, it->pattern.period)) forget_pattern(it);
        begins = it->pattern.period ? follow_pattern(it, code, low) : search_pattern(it);
        if (gap && !pattern_sure(&it->pattern)) begins = true;
        if (begins) begins_now(it);
    }
    it->launches++;
    return begins;
}

bool iteration_mark(struct iteration *it, uint64_t now_ns) {
    it->marked = true;
    if (!it->launches) return false;
    return begins_now(it);
}

enum iteration_source iteration_source(const struct iteration *it) {
    if (it->marked) return ITERATION_MARK;
    if (it->pattern.period) return ITERATION_PERIOD;
    return it->gap_points >= GAP_ENOUGH ? ITERATION_GAP : ITERATION_NONE;
}

uint32_t iteration_period(const struct iteration *it) {
    if (it->pattern.period && !it->marked) return it->pattern.period;
    return it->length > UINT32_MAX ? UINT32_MAX : (uint32_t)it->length;
}
