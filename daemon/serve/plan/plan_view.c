/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries of a scheduler for display, and the check of its invariants.
 */
#include "daemon/serve/plan/plan_view.h"
#include "daemon/serve/plan/plan_core.h"

const char *plan_fault_text(enum plan_fault fault) {
    static const char *const texts[] = {
#define X(name, text) text,
        PLAN_FAULTS(X)
#undef X
    };
    return (unsigned)fault < sizeof(texts) / sizeof(*texts) ? texts[fault] : "?";
}

void plan_view(const struct plan *p, struct plan_view *out) {
    const struct plan_state *st = &p->st;
    const struct batchtime *b = &st->outlook.batchtime;
    *out = (struct plan_view){.pending = st->roster.pending,
                              .sent = st->roster.used - st->roster.pending,
                              .workers = st->crew.here,
                              .idle = st->crew.idle,
                              .c0_ns = b->c0_ns,
                              .c1 = b->c1,
                              .alone_ns = outlook_alone_ns(&st->outlook)};
    for (uint32_t i = 0; i < st->config.size_count; i++) {
        out->batch_ns[i] = st->outlook.size[i].mean_ns;
        out->batch_tail_ns[i] = st->outlook.size[i].tail_ns;
    }
}

void plan_alone(const struct plan *p, uint32_t app, struct plan_alone *out) {
    const struct histogram *h = &p->st.outlook.of[app];
    *out = (struct plan_alone){.count = histogram_count(h),
                               .mean_ns = (uint64_t)histogram_mean(h),
                               .p50_ns = histogram_quantile(h, 500),
                               .p99_ns = histogram_quantile(h, 990)};
}

static const char *check_crew(const struct plan_state *st, uint32_t *sent) {
    uint32_t here = 0, idle = 0;
    for (uint32_t i = 0; i < PLAN_WORKERS; i++) {
        const struct crew_worker *w = &st->crew.workers[i];
        here += w->here;
        idle += w->here && !w->count;
        *sent += w->count;
        if (w->count && !w->here) return "a worker that has ended has a batch";
        for (uint32_t k = 0; k < w->count; k++)
            if (plan_state_request(st, w->places[k])->where < ROSTER_SENT)
                return "a batch has a request that was not sent";
    }
    bool counted = here == st->crew.here && idle == st->crew.idle;
    return counted ? NULL : "the number of workers is wrong";
}

const char *plan_check(const struct plan *p) {
    const struct plan_state *st = &p->st;
    uint32_t pending = 0, used = 0, sent = 0;
    for (uint32_t i = 0; i < st->roster.capacity; i++) {
        pending += plan_state_request(st, i)->where == ROSTER_PENDING;
        used += plan_state_request(st, i)->where != ROSTER_FREE;
    }
    if (pending != st->roster.pending || used != st->roster.used)
        return "the number of requests is wrong";
    const char *broken = check_crew(st, &sent);
    if (broken) return broken;
    if (sent + pending != used) return "a request is neither pending nor in a batch";
    return p->policy->check ? p->policy->check(st) : NULL;
}
