/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence that counts: marks; else a period of the launches (period.h finds it, pattern.h
 * follows it); else, and wherever the job is not at the expected place of its period, idle gaps.
 *
 * A gap: the program waited until nothing was queued, and the next launch came at least GAP_NS
 * later, at the floor of live memory. The gap lasted at least a quarter of the preceding work's
 * time, and of the mean gap. A pause in the middle of a request looks like that only by chance (the
 * machine is busy). So gaps count once enough pauses were gaps: eight in a row, or clearly more
 * than one in five of many. A service begins each request with the same launches. A program that
 * compiles and tries out kernels, and pauses for that, continues with others. So a gap before a
 * launch that had no gap before it proves nothing yet, and two of three gaps must precede known
 * launches.
 *
 * Gaps that count are evidence against a period of which a few lie between two gaps: these are the
 * steps of a request. Many periods between gaps are no such evidence: then the program pauses now
 * and then to write a log.
 *
 * A followed period tells how often launches repeat, but where memory does not change its phase is
 * arbitrary. So the detector counts gaps and pauses at each place of the period: a request ends at
 * a place where most waits turn into gaps. Iterations begin there. The period is rotated to begin
 * there too, unless it begins at such a place already (two models asked in turn).
 *
 * A copy or a fill is no part of the sequence of launches. It begins an iteration when it is the
 * first operation after a gap, because a request's input belongs to the request. The launch behind
 * it then begins nothing. A copy to the host brings the results of earlier work, so it prolongs the
 * wait and never begins an iteration. If several gaps in a row have no launch between them,
 * requests consist of copies alone, and each gap ends one.
 *
 * Once a gap has lasted for GAP_NS and, as far as known before its end, will count, the iteration
 * is over (iteration_end): the next operation needs no second boundary.
 */
#include "daemon/worker/iteration/iteration.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/worker/iteration/pattern.h"
#include "daemon/worker/iteration/period.h"

#define GAP_NS 1000000ull
#define GAP_PART 4
#define GAP_GAIN 4 /* points of a gap; any other pause costs one */
#define GAP_LOSS 8 /* cost of a gap before a launch that had no gap before it */
#define GAP_ENOUGH 32
#define GAP_MOST 40
#define GAP_MEAN 8u /* gaps over which their distance is measured */
#define GAP_FIRSTS 1024u
#define EMPTY_ENOUGH 8u /* iterations of copies alone, in a row */
#define PLACES 4u       /* places of a period at which waits are counted */
#define PLACE_ENOUGH 8u /* points that make a place one of gaps; a pause there costs PLACE_LOSS */
#define PLACE_MOST 16u
#define PLACE_LOSS 2u

/* A place of the followed period at which the program waits. */
struct wait_place {
    uint32_t at, points;
};

struct iteration {
    uint64_t launches, begun; /* launches so far; the number at which the latest iteration began */
    uint64_t length;          /* launches of the previous iteration */
    uint64_t low_bytes;       /* least live memory since the latest launch */
    bool marked;
    bool begun_work;           /* an operation has come */
    bool ahead;                /* an iteration began, and none of its launches has come */
    bool carried;              /* the iteration has had a copy or a fill */
    uint32_t empty;            /* iterations in a row without a launch */
    bool idle;                 /* since idle_ns */
    bool queued;               /* work was sent, and none of it has begun */
    bool judged;               /* nothing more can be learned before the wait ends */
    uint64_t idle_ns, busy_ns; /* busy_ns: the beginning of the work that ended at idle_ns */
    uint64_t gap_mean_ns;      /* mean of pauses of at least GAP_NS */
    uint32_t gap_points, gap_count;
    uint64_t gap_at[GAP_MEAN];       /* numbers of launches, by gap_count modulo GAP_MEAN */
    uint16_t gap_firsts[GAP_FIRSTS]; /* launches after gaps, by fingerprint */
    struct wait_place places[PLACES];
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
    if (it->begun == it->launches) return true;
    it->length = it->launches - it->begun;
    it->begun = it->launches;
    return true;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static bool is_long(const struct iteration *it, uint64_t gap_ns) {
    uint64_t work_ns = it->idle_ns > it->busy_ns ? it->idle_ns - it->busy_ns : 0;
    return gap_ns >= GAP_NS && gap_ns >= work_ns / GAP_PART && gap_ns >= it->gap_mean_ns / GAP_PART;
}

static void learn_mean(struct iteration *it, uint64_t gap_ns) {
    uint64_t mean_ns = it->gap_mean_ns, capped_ns = gap_ns;
    if (gap_ns < GAP_NS) return;
    /* a single long gap proves nothing */
    if (mean_ns && gap_ns > 2 * mean_ns) capped_ns = 2 * mean_ns;
    it->gap_mean_ns = mean_ns ? mean_ns - mean_ns / 8 + capped_ns / 8 : gap_ns;
}

static uint64_t idle_for(const struct iteration *it, uint64_t now_ns) {
    return now_ns > it->idle_ns ? now_ns - it->idle_ns : 0;
}

static bool is_at_floor(const struct iteration *it) {
    return period_at_floor(&it->period, period_low(it->low_bytes));
}

static bool lose_points(struct iteration *it, uint32_t points) {
    it->gap_points -= it->gap_points < points ? it->gap_points : points;
    return false;
}

/* True if an earlier gap preceded a launch with this fingerprint. Records the present gap. */
static bool is_first_again(struct iteration *it, uint16_t fingerprint) {
    uint16_t *first = &it->gap_firsts[fingerprint % GAP_FIRSTS];
    bool again = *first == fingerprint;
    *first = fingerprint;
    return again;
}

/* Launches since the gap GAP_MEAN gaps ago; UINT64_MAX: fewer gaps were seen. */
static uint64_t since_gaps(const struct iteration *it) {
    if (it->gap_count < GAP_MEAN) return UINT64_MAX;
    return it->launches - it->gap_at[it->gap_count % GAP_MEAN];
}

/* True when gaps refute a period. Either 1.5 to PERIOD_REPEATS periods lie between gaps, which are
 * then a request's steps, or a period has more requests than PLACES. */
static bool is_refuted(const struct iteration *it, uint64_t period) {
    uint64_t launches = since_gaps(it);
    if (it->gap_points < GAP_ENOUGH || launches == UINT64_MAX) return false;
    if (launches * PLACES < period * GAP_MEAN) return true;
    return launches * 2 > period * GAP_MEAN * 3 && launches <= period * GAP_MEAN * PERIOD_REPEATS;
}

/* True when at least two of three periods have a gap. */
static bool in_periods(const struct iteration *it) {
    uint64_t launches = since_gaps(it);
    return launches != UINT64_MAX && launches * 2 <= (uint64_t)it->pattern.period * GAP_MEAN * 3;
}

/* ---- places of a period ---------------------------------------------------------------------- */

/* The place's entry, or the entry with the fewest points. */
static struct wait_place *place_at(struct iteration *it, uint32_t at) {
    struct wait_place *least = &it->places[0];
    for (uint32_t i = 0; i < PLACES; i++) {
        if (it->places[i].points && it->places[i].at == at) return &it->places[i];
        if (it->places[i].points < least->points) least = &it->places[i];
    }
    return least;
}

/* True when most waits at this place of the period are gaps, and not pauses for an occasional log.
 */
static bool is_gap_place(const struct iteration *it, uint32_t at) {
    if (!in_periods(it)) return false;
    for (uint32_t i = 0; i < PLACES; i++)
        if (it->places[i].at == at && it->places[i].points >= PLACE_ENOUGH) return true;
    return false;
}

/* Counts a wait that ended at the job's present place. */
static void count_wait(struct iteration *it, bool gap) {
    if (!pattern_sure(&it->pattern)) return;
    struct wait_place *p = place_at(it, it->pattern.next);
    if (p->at != it->pattern.next || !p->points) {
        if (!gap) return;
        *p = (struct wait_place){.at = it->pattern.next};
    }
    if (gap)
        p->points += p->points < PLACE_MOST;
    else
        p->points -= p->points < PLACE_LOSS ? p->points : PLACE_LOSS;
}

static void forget_places(struct iteration *it) {
    for (uint32_t i = 0; i < PLACES; i++)
        it->places[i].points = 0;
}

/* Rotates the period to begin at the job's present place. */
static void turn_pattern(struct iteration *it) {
    uint32_t by = it->pattern.next, period = it->pattern.period;
    pattern_turn(&it->pattern);
    for (uint32_t i = 0; i < PLACES; i++)
        it->places[i].at = (it->places[i].at + period - by) % period;
}

/* ---- the end of a gap ------------------------------------------------------------------------ */

static bool count_gap(struct iteration *it, uint16_t fingerprint, bool gap) {
    if (!gap) return lose_points(it, 1);
    if (!is_first_again(it, fingerprint)) return lose_points(it, GAP_LOSS);
    it->gap_points += GAP_GAIN;
    if (it->gap_points > GAP_MOST) it->gap_points = GAP_MOST;
    it->gap_at[it->gap_count++ % GAP_MEAN] = it->launches;
    return it->gap_points >= GAP_ENOUGH;
}

/* An operation with this fingerprint ends the wait. `low`: the least live memory before it. */
static bool after_gap(struct iteration *it, uint16_t fingerprint, uint16_t low, uint64_t now_ns) {
    uint64_t gap_ns = idle_for(it, now_ns);
    bool gap = is_long(it, gap_ns) && period_at_floor(&it->period, low);
    learn_mean(it, gap_ns);
    it->idle = false;
    it->busy_ns = now_ns;
    it->queued = true;
    count_wait(it, gap);
    return count_gap(it, fingerprint, gap);
}

/* ---- the period ------------------------------------------------------------------------------ */

static void forget_pattern(struct iteration *it) {
    it->pattern.period = 0;
    forget_places(it);
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
    if (!period_search(&it->period, gap, it->gap_points >= GAP_ENOUGH, &found)) return false;
    if (is_refuted(it, found.period)) {
        period_refuse(&it->period, found.period);
        return false;
    }
    forget_places(it);
    return pattern_learn(&it->pattern, &it->period, &found);
}

/* True when an iteration begins with the next launch, if that is as expected. */
static bool is_due(const struct iteration *it) {
    return pattern_sure(&it->pattern) && it->pattern.next == 0;
}

/* True if an iteration begins at a gap that counts. While a period is followed, its places decide.
 */
static bool begins_at_gap(struct iteration *it, bool gap) {
    if (gap && it->pattern.period && is_refuted(it, it->pattern.period)) forget_pattern(it);
    if (!pattern_sure(&it->pattern)) return gap;
    if (!is_gap_place(it, it->pattern.next)) return false;
    if (it->pattern.next && !is_gap_place(it, 0)) turn_pattern(it);
    return gap;
}

void iteration_idle(struct iteration *it, uint64_t now_ns) {
    it->idle = it->begun_work && !it->marked;
    it->judged = false;
    it->idle_ns = now_ns;
}

void iteration_began(struct iteration *it, uint64_t now_ns) {
    if (!it->queued) return;
    it->queued = false;
    it->busy_ns = now_ns;
}

/* ---- before a wait ends ---------------------------------------------------------------------- */

void iteration_returned(struct iteration *it, uint64_t now_ns) {
    it->idle_ns = now_ns;
}

/* True if a launch will come. Requests of copies alone have none. */
static bool is_ahead(const struct iteration *it) {
    return it->ahead && !(it->carried && it->empty >= EMPTY_ENOUGH);
}

bool iteration_waits(const struct iteration *it) {
    if (!it->idle || is_ahead(it) || it->judged) return false;
    if (!pattern_sure(&it->pattern)) return it->gap_points >= GAP_ENOUGH;
    return is_due(it) || is_gap_place(it, it->pattern.next);
}

bool iteration_end(struct iteration *it, uint64_t now_ns) {
    uint64_t idle_ns = idle_for(it, now_ns);
    if (!iteration_waits(it) || idle_ns < GAP_NS) return false;
    if (!pattern_sure(&it->pattern) && !is_long(it, idle_ns)) return false;
    it->judged = true;
    if (!is_at_floor(it)) return false;
    it->ahead = true;
    it->carried = false;
    return begins_now(it);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void note_work(struct iteration *it, uint64_t now_ns) {
    if (!it->begun_work) it->busy_ns = now_ns;
    it->begun_work = true;
}

bool iteration_launch(struct iteration *it, uint64_t fingerprint, uint64_t live_bytes,
                      uint64_t now_ns) {
    fall(it, live_bytes);
    uint16_t code = period_fingerprint(fingerprint), low = period_low(it->low_bytes);
    it->low_bytes = live_bytes;
    note_work(it, now_ns);
    bool begins = false;
    if (!it->marked) {
        period_push(&it->period, code, low);
        bool gap = it->idle && begins_at_gap(it, after_gap(it, code, low, now_ns));
        begins = it->pattern.period ? follow_pattern(it, code, low) : search_pattern(it);
        begins = (begins || gap) && !it->ahead;
        it->ahead = false;
        it->empty = 0;
        if (begins) begins_now(it);
    }
    it->launches++;
    return begins;
}

static bool transfer_begins(struct iteration *it, uint64_t fingerprint, bool to_host,
                            uint64_t live_bytes, uint64_t now_ns) {
    if (!it->idle) return false;
    uint16_t code = period_fingerprint(fingerprint);
    fall(it, live_bytes);
    bool due = is_due(it);
    bool known = it->gap_firsts[code % GAP_FIRSTS] == code;
    if (to_host || idle_for(it, now_ns) < GAP_NS) {
        it->idle_ns = now_ns; /* the wait continues: iteration_returned */
        if (to_host || !due || !known) return false;
    } else {
        bool gap = after_gap(it, code, period_low(it->low_bytes), now_ns);
        due = begins_at_gap(it, gap) || due;
        it->empty += it->ahead && it->carried && it->empty < EMPTY_ENOUGH;
    }
    if (!due || is_ahead(it)) return false;
    it->ahead = true;
    return begins_now(it);
}

bool iteration_transfer(struct iteration *it, uint64_t fingerprint, bool to_host,
                        uint64_t live_bytes, uint64_t now_ns) {
    note_work(it, now_ns);
    bool begins = transfer_begins(it, fingerprint, to_host, live_bytes, now_ns);
    it->carried = true;
    return begins;
}

bool iteration_mark(struct iteration *it, uint64_t now_ns) {
    it->marked = true;
    it->idle = false;
    if (!it->begun_work) return false;
    return begins_now(it);
}

enum iteration_source iteration_source(const struct iteration *it) {
    if (it->marked) return ITERATION_MARK;
    if (it->pattern.period) return is_gap_place(it, 0) ? ITERATION_GAP : ITERATION_PERIOD;
    return it->gap_points >= GAP_ENOUGH ? ITERATION_GAP : ITERATION_NONE;
}

uint32_t iteration_percent(const struct iteration *it) {
    switch (iteration_source(it)) {
    case ITERATION_MARK: return 100;
    case ITERATION_PERIOD: return pattern_percent(&it->pattern);
    case ITERATION_GAP: return it->gap_points * 100 / GAP_MOST;
    default: return 0;
    }
}

uint32_t iteration_period(const struct iteration *it) {
    if (it->pattern.period && !it->marked) return it->pattern.period;
    return it->length > UINT32_MAX ? UINT32_MAX : (uint32_t)it->length;
}
