/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles ends and resizes in order of time.
 */
#include "test/lib/tune/fluidrun.h"

#include <stdlib.h>

void fluidrun_init(struct fluidrun *r, const struct salus_fluid_config *config) {
    *r = (struct fluidrun){.change_ns = config->change_ns};
    if (salus_fluid_create(&r->f, config, NULL, 0)) abort();
}

void fluidrun_finish(struct fluidrun *r) {
    salus_fluid_destroy(r->f);
}

/* The time at which a resize in progress settles; a resize that began in this step settles
 * epsilon from now. */
static int64_t settles_ns(const struct fluidrun *r, uint64_t id) {
    for (uint32_t i = 0; i < r->resizing_count; i++)
        if (r->resizing[i].id == id && r->resizing[i].settles_ns > r->now_ns)
            return r->resizing[i].settles_ns;
    return r->now_ns + r->change_ns;
}

static void note_resizing(struct fluidrun *r) {
    struct fluidrun then = {.resizing_count = 0};
    for (uint32_t i = 0; i < r->plan.count; i++) {
        const struct salus_fluid_trial *t = &r->plan.trials[i];
        if (t->state != SALUS_FLUID_RESIZING) continue;
        then.resizing[then.resizing_count].id = t->id;
        then.resizing[then.resizing_count++].settles_ns = settles_ns(r, t->id);
    }
    r->resizing_count = then.resizing_count;
    for (uint32_t i = 0; i < then.resizing_count; i++)
        r->resizing[i] = then.resizing[i];
}

void fluidrun_step(struct fluidrun *r, const struct salus_fluid_event *events, uint32_t count) {
    if (salus_fluid_step(r->f, r->now_ns, events, count, &r->plan)) abort();
    if (r->plan.count > FLUIDRUN_TRIALS) abort();
    if (!r->broken) r->broken = salus_fluid_check(r->f);
    note_resizing(r);
}

/* The time of the trial's next event, if no other comes first. */
static int64_t next_ns(const struct fluidrun *r, const struct salus_fluid_trial *t) {
    return t->state == SALUS_FLUID_RESIZING ? settles_ns(r, t->id) : t->end_ns;
}

bool fluidrun_next(struct fluidrun *r) {
    struct salus_fluid_event events[FLUIDRUN_TRIALS];
    uint32_t count = 0;
    int64_t at_ns = INT64_MAX;
    for (uint32_t i = 0; i < r->plan.count; i++)
        if (next_ns(r, &r->plan.trials[i]) < at_ns) at_ns = next_ns(r, &r->plan.trials[i]);
    if (at_ns == INT64_MAX) return false;
    for (uint32_t i = 0; i < r->plan.count; i++) {
        const struct salus_fluid_trial *t = &r->plan.trials[i];
        if (next_ns(r, t) != at_ns) continue;
        bool settles = t->state == SALUS_FLUID_RESIZING;
        events[count++] = (struct salus_fluid_event){
            .kind = settles ? SALUS_FLUID_SETTLED : SALUS_FLUID_END, .id = t->id};
    }
    r->now_ns = at_ns;
    fluidrun_step(r, events, count);
    return true;
}

int64_t fluidrun_makespan(const struct salus_fluid_config *config,
                          const struct salus_fluid_event *trials, uint32_t count,
                          uint64_t *resizes) {
    struct fluidrun r;
    fluidrun_init(&r, config);
    fluidrun_step(&r, trials, count);
    while (fluidrun_next(&r))
        ;
    bool whole = !r.broken && r.plan.count == 0;
    if (resizes) *resizes = r.plan.resizes;
    fluidrun_finish(&r);
    return whole ? r.now_ns : -1;
}

const struct salus_fluid_trial *fluidrun_trial(const struct fluidrun *r, uint64_t id) {
    for (uint32_t i = 0; i < r->plan.count; i++)
        if (r->plan.trials[i].id == id) return &r->plan.trials[i];
    abort();
}

struct salus_fluid_event fluidrun_join(uint64_t id, int64_t left_ns) {
    return (struct salus_fluid_event){
        .kind = SALUS_FLUID_JOIN, .id = id, .group = 1, .left_ns = left_ns, .alpha = 1, .beta = 1};
}
