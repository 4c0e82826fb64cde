/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares launches, and finds the place again.
 */
#include "daemon/worker/iteration/pattern.h"

#define NOWHERE UINT32_MAX

bool pattern_learn(struct pattern *q, const struct period *p, const struct period_found *found) {
    uint32_t period = found->period, done = (uint32_t)(p->count - found->begin);
    /* places behind the latest launch come from one period earlier */
    for (uint32_t i = 0; i < period; i++) {
        uint64_t launch = found->begin + i - (i < done ? 0 : period);
        q->fingerprint[i] = p->fingerprint[launch % PERIOD_HISTORY];
    }
    q->period = period;
    q->next = done % period;
    q->good = q->need = q->odd = 0;
    q->trust = (uint64_t)period * PERIOD_REPEATS;
    q->flat = found->flat;
    q->floor = found->floor;
    q->deep = found->deep;
    return done == 1 || period == 1;
}

static void reverse(uint16_t *first, uint32_t count) {
    for (uint32_t i = 0; i < count / 2; i++) {
        uint16_t kept = first[i];
        first[i] = first[count - 1 - i];
        first[count - 1 - i] = kept;
    }
}

void pattern_turn(struct pattern *q) {
    reverse(q->fingerprint, q->next);
    reverse(q->fingerprint + q->next, q->period - q->next);
    reverse(q->fingerprint, q->period);
    q->next = 0;
}

/* The place of this launch in the iteration. */
static uint32_t place_of(const struct pattern *q, uint16_t fingerprint, uint16_t low) {
    uint32_t behind = q->next + 1 == q->period ? 0 : q->next + 1;
    bool first = fingerprint == q->fingerprint[0] && (q->flat || low <= q->floor);
    if (first && !q->good && q->need == q->period) return 0;
    if (fingerprint == q->fingerprint[q->next]) return q->next;
    if (first) return 0;
    return fingerprint == q->fingerprint[behind] ? behind : NOWHERE;
}

/* Notes a launch that was not the expected one. */
static void doubt_place(struct pattern *q, uint32_t place) {
    uint32_t need = q->period;
    if (place == NOWHERE) q->odd++;
    if (place != 0 && q->odd <= PATTERN_ODD && need > PATTERN_SURE) need = PATTERN_SURE;
    if (q->need < need) q->need = need;
    q->good = 0;
}

static uint64_t most_trust(const struct pattern *q) {
    uint64_t most = (uint64_t)q->period * PATTERN_TRUST;
    return most < PATTERN_TRUST_MIN ? PATTERN_TRUST_MIN : most;
}

uint32_t pattern_percent(const struct pattern *q) {
    return q->period ? (uint32_t)(q->trust * 100 / most_trust(q)) : 0;
}

static void weigh_begin(struct pattern *q, uint16_t low, bool begins) {
    uint64_t most = most_trust(q);
    if (!q->need)
        q->trust += q->trust < most;
    else
        q->trust--;
    if (low < q->deep && begins) q->deep = low; /* the job freed memory that had lasted */
    if (low < q->deep) q->trust = 0;
    if (!q->trust) q->period = 0;
}

bool pattern_step(struct pattern *q, uint16_t fingerprint, uint16_t low) {
    uint32_t place = place_of(q, fingerprint, low);
    if (place != q->next) doubt_place(q, place);
    bool begins = place == 0 && !q->need;
    if (place != NOWHERE) {
        q->next = place + 1 == q->period ? 0 : place + 1;
        q->good++;
        if (q->good >= q->need) q->need = q->odd = 0;
    }
    weigh_begin(q, low, begins);
    return begins;
}
