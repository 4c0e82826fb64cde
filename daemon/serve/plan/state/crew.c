/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks idle workers.
 */
#include "daemon/serve/plan/state/crew.h"

void crew_join(struct crew *c, uint32_t worker) {
    c->workers[worker].here = true;
    c->workers[worker].count = 0;
    c->here++;
    c->idle++;
}

void crew_leave(struct crew *c, uint32_t worker) {
    if (!c->workers[worker].count) c->idle--;
    c->workers[worker].here = false;
    c->workers[worker].count = 0;
    c->here--;
}

void crew_send(struct crew *c, uint32_t worker, uint32_t count, uint64_t now_ns,
               uint64_t expected_ns) {
    struct crew_worker *w = &c->workers[worker];
    w->count = count;
    w->sent_ns = now_ns;
    w->expected_ns = expected_ns;
    c->idle--;
}

void crew_done(struct crew *c, uint32_t worker) {
    c->workers[worker].count = 0;
    c->idle++;
}

uint32_t crew_idle(const struct crew *c) {
    for (uint32_t i = 0; c->idle && i < PLAN_WORKERS; i++)
        if (c->workers[i].here && !c->workers[i].count) return i;
    return CREW_NONE;
}

uint64_t crew_free_ns(const struct crew *c, uint64_t now_ns) {
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < PLAN_WORKERS; i++) {
        const struct crew_worker *w = &c->workers[i];
        if (!w->here) continue;
        uint64_t end_ns = w->count ? w->sent_ns + w->expected_ns : now_ns;
        if (end_ns < first) first = end_ns;
    }
    return c->here && first > now_ns ? first : now_ns;
}
