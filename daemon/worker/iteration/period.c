/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates from the latest occurrence of the same context, checked against live memory.
 */
#include "daemon/worker/iteration/period.h"

#define MASK PERIOD_MASK
#define FLOOR_PART 256 /* at the floor: above it by at most the range divided by this */
#define WINDOW_PERIODS 24
#define WINDOW_MIN 512
#define REPEATS_MAX 128
#define BUDGET_LAUNCH 4 /* steps back for each launch, on average */
#define RETRY_MIN 256   /* launches until memory is checked again after it disagreed */
#define LIVE_ALL ((1u << PERIOD_SLOTS) - 1)

/* ---- stored form of launches ----------------------------------------------------------------- */

static uint64_t low_bytes(uint16_t code) {
    const uint64_t one = 1u << PERIOD_LOW_MANTISSA_BITS;
    if (code < 2 * one) return (uint64_t)code << PERIOD_LOW_UNIT_BITS;
    uint64_t shift = code / one - 1;
    return (code - shift * one) << shift << PERIOD_LOW_UNIT_BITS;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Counts the latest launches that equal the one `period` earlier, as far as history and budget
 * allow. *whole: the count ended at a difference or at the first launch. */
static uint32_t reach_of(struct period *p, uint32_t period, bool *whole) {
    uint64_t latest = p->count - 1, most = latest - period + 1;
    uint32_t run = 0;
    if (most > PERIOD_HISTORY - period) most = PERIOD_HISTORY - period;
    if (most > p->budget) most = p->budget;
    while (run < most &&
           p->fingerprint[(latest - run) & MASK] == p->fingerprint[(latest - run - period) & MASK])
        run++;
    *whole = run < most || run == latest - period + 1;
    p->budget -= run;
    return run;
}

/* Takes the lowest candidate out of the set `left`. */
static inline struct period_slot *take(struct period *p, uint32_t *left) {
    struct period_slot *s = &p->slots[__builtin_ctz(*left)];
    *left &= *left - 1;
    return s;
}

/* A free slot, or the slot of the shortest repetition. */
static uint32_t worst_slot(const struct period *p) {
    uint32_t worst = 0;
    if (p->live != LIVE_ALL) return (uint32_t)__builtin_ctz(~p->live);
    for (uint32_t i = 1; i < PERIOD_SLOTS; i++)
        if (p->slots[i].run < p->slots[worst].run) worst = i;
    return worst;
}

static __attribute__((noinline)) void propose(struct period *p, uint32_t period) {
    bool whole;
    uint32_t run = reach_of(p, period, &whole), at = worst_slot(p);
    if (run < PERIOD_CONTEXT || (p->live >> at & 1 && run <= p->slots[at].run)) return;
    p->live |= 1u << at;
    p->slots[at] = (struct period_slot){.period = period,
                                        .run = run,
                                        .begin = p->count - run - period,
                                        .next_try = PERIOD_MIN_RUN,
                                        .whole = whole};
}

/* Distance back to the same context; 0: there is none. The table has 16 bits of a launch's number,
 * and lacks launches during a pause. A wrong distance does no harm, because candidates are
 * compared. */
static uint32_t last_distance(struct period *p) {
    uint64_t latest = p->count - 1;
    uint64_t hash = p->context[0] * 0x9e3779b97f4a7c15ull ^ p->context[1] * 0xc4ceb9fe1a85ec53ull;
    uint16_t *entry = &p->table[hash >> 40 & (PERIOD_TABLE - 1)];
    uint32_t distance = (uint16_t)(latest - *entry);
    *entry = (uint16_t)latest;
    return distance < PERIOD_HISTORY && distance <= latest ? distance : 0;
}

/* ---- live memory ----------------------------------------------------------------------------- */

static void range_of(const struct period *p, uint64_t launches, uint16_t *least, uint16_t *most) {
    *least = UINT16_MAX;
    *most = 0;
    for (uint64_t i = p->count - launches; i != p->count; i++) {
        uint16_t low = p->low[i & MASK];
        if (low < *least) *least = low;
        if (low > *most) *most = low;
    }
}

/* True when live memory did not change within the history. */
static bool is_flat(const struct period *p) {
    return !p->changed || p->count - p->changed >= PERIOD_HISTORY;
}

static uint64_t window_begin(const struct period *p, uint64_t launches) {
    if (launches < WINDOW_MIN) launches = WINDOW_MIN;
    if (launches > PERIOD_HISTORY) launches = PERIOD_HISTORY;
    return launches > p->count ? p->count : launches;
}

/* The difference of live memory that counts as none, where memory ranges from `least` to `most`. */
static uint64_t slack_bytes(uint16_t least, uint16_t most) {
    return (low_bytes(most) - low_bytes(least)) / FLOOR_PART;
}

static uint16_t floor_of(uint16_t least, uint16_t most) {
    return period_low(low_bytes(least) + slack_bytes(least, most));
}

static uint16_t depth_of(uint16_t least, uint16_t most) {
    uint64_t bytes = low_bytes(least), slack = slack_bytes(least, most);
    return bytes > slack ? period_low(bytes - slack) : 0;
}

bool period_at_floor(const struct period *p, uint16_t low) {
    uint16_t least, most;
    if (!p->count) return true; /* no launch is recorded */
    range_of(p, window_begin(p, PERIOD_HISTORY), &least, &most);
    return low <= floor_of(least, most);
}

/* The last launch of the longest stretch at the floor, cyclically, in the latest period; UINT64_MAX
 * when none is at the floor, or all are. */
static uint64_t find_trough(const struct period *p, uint32_t period, uint16_t floor) {
    uint64_t begin = p->count - period, at = UINT64_MAX, stretch = 0, longest = 0;
    while (begin != p->count && p->low[begin & MASK] <= floor)
        begin++;
    if (begin == p->count) return UINT64_MAX;
    for (uint32_t i = 0; i < period; i++) { /* from a launch above the floor, once around */
        uint64_t launch = begin + i < p->count ? begin + i : begin + i - period;
        stretch = p->low[launch & MASK] <= floor ? stretch + 1 : 0;
        if (stretch <= longest) continue;
        longest = stretch;
        at = launch;
    }
    return at;
}

/* True when memory was at the floor in earlier periods too. Memory that only falls reaches a new
 * floor each time. */
static bool is_settled(const struct period *p, uint64_t launch, uint32_t period, uint16_t floor) {
    uint64_t oldest = p->count > PERIOD_HISTORY ? p->count - PERIOD_HISTORY : 0;
    for (uint32_t i = 0; i < PERIOD_REPEATS - 1 && launch >= oldest + period; i++) {
        launch -= period;
        if (p->low[launch & MASK] > floor) return false;
    }
    return true;
}

/* One repeated kernel proves nothing. */
static bool is_varied(const struct period *p, uint32_t period) {
    for (uint32_t i = 1; i < period; i++)
        if (p->fingerprint[(p->count - 1 - i) & MASK] != p->fingerprint[(p->count - 1) & MASK])
            return true;
    return false;
}

/* The latest launch that is a whole number of periods after this one. */
static uint64_t phase_of(const struct period *p, uint64_t launch, uint32_t period) {
    return p->count - 1 - (p->count - 1 - launch) % period;
}

/* Chooses the place where iterations begin among the possible ones; `out` has the floor. False:
 * memory has no trough, or a new one in each period. */
static bool place_begin(const struct period *p, const struct period_slot *s, uint64_t hint,
                        bool sure, struct period_found *out) {
    uint64_t begin = phase_of(p, s->begin, s->period), trough = begin;
    bool known = hint < p->count;
    if (known) hint = phase_of(p, hint, s->period);
    if (!out->flat) trough = find_trough(p, s->period, out->floor);
    if (trough == UINT64_MAX) return false;
    known &= out->flat || p->low[hint & MASK] <= out->floor;
    if (s->whole && !(known && sure) && (out->flat || p->low[begin & MASK] <= out->floor))
        out->begin = begin;
    else
        out->begin = known ? hint : trough;
    return out->flat || is_settled(p, out->begin, s->period, out->floor);
}

static bool judge(const struct period *p, const struct period_slot *s, uint64_t hint, bool sure,
                  struct period_found *out) {
    uint16_t least, most;
    *out = (struct period_found){.period = s->period, .flat = is_flat(p)};
    if (out->flat && !is_varied(p, s->period)) return false;
    range_of(p, window_begin(p, (uint64_t)s->period * WINDOW_PERIODS), &least, &most);
    out->floor = floor_of(least, most);
    out->deep = depth_of(least, most);
    return place_begin(p, s, hint, sure, out);
}

/* ---- search ---------------------------------------------------------------------------------- */

static uint64_t repeats_of(const struct period *p, uint32_t period) {
    for (uint32_t i = 0; i < PERIOD_DISTRUSTED; i++)
        if (p->distrusted[i].period == period) return p->distrusted[i].repeats;
    return PERIOD_REPEATS;
}

void period_distrust(struct period *p, uint32_t period) {
    uint64_t repeats = repeats_of(p, period) * 2;
    uint32_t at = p->next_distrusted;
    for (uint32_t i = 0; i < PERIOD_DISTRUSTED; i++)
        if (p->distrusted[i].period == period) at = i;
    if (at == p->next_distrusted) p->next_distrusted = (at + 1) % PERIOD_DISTRUSTED;
    p->distrusted[at].period = period;
    p->distrusted[at].repeats = repeats > REPEATS_MAX ? REPEATS_MAX : (uint32_t)repeats;
}

void period_refuse(struct period *p, uint32_t period) {
    uint32_t pause = period > RETRY_MIN / 2 ? 2 * period : RETRY_MIN;
    for (uint32_t left = p->live; left;) {
        struct period_slot *s = take(p, &left);
        if (s->period == period) s->next_try = s->run + pause;
    }
}

void period_restart(struct period *p) {
    p->live = 0;
}

/* Accepts a candidate that has repeated long enough and with which memory agrees. */
static __attribute__((noinline)) bool accept(struct period *p, uint64_t hint, bool sure,
                                             struct period_found *out) {
    uint32_t least = is_flat(p) ? PERIOD_FLAT_RUN : PERIOD_MIN_RUN;
    for (uint32_t left = p->live; left;) {
        struct period_slot *s = take(p, &left);
        if (s->run < least || s->run < s->next_try) continue;
        if (s->run < repeats_of(p, s->period) * s->period) continue;
        if (judge(p, s, hint, sure, out)) return true;
        period_refuse(p, s->period);
    }
    return false;
}

bool period_search(struct period *p, uint64_t hint, bool sure, struct period_found *out) {
    uint64_t latest = p->count - 1;
    uint16_t fingerprint = p->fingerprint[latest & MASK];
    uint32_t distance = last_distance(p);
    bool known = !distance, due = false;
    p->budget += BUDGET_LAUNCH;
    if (p->budget > PERIOD_HISTORY) p->budget = PERIOD_HISTORY;
    for (uint32_t left = p->live; left;) {
        struct period_slot *s = take(p, &left);
        if (fingerprint != p->fingerprint[(latest - s->period) & MASK]) {
            p->live &= ~(1u << (s - p->slots));
            continue;
        }
        known |= s->period == distance;
        due |= ++s->run >= s->next_try;
    }
    if (!known) propose(p, distance);
    return (due || !known) && accept(p, hint, sure, out);
}
