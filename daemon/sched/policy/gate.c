/* SPDX-License-Identifier: Apache-2.0
 *
 * Two rings, and what is on the device.
 */
#include "daemon/sched/policy/gate.h"

#include <errno.h>
#include <stdlib.h>

int gate_init(void *self, const struct sched_state *st) {
    struct gate *g = self;
    g->turn[GATE_BEST] = g->turn[GATE_HIGH] = SCHED_NONE;
    return 0;
}

void gate_fini(void *self) {
    struct gate *g = self;
    free(g->slots);
    free(g->high);
}

int gate_reserve(void *self, uint32_t jobs) {
    struct gate *g = self;
    if (jobs <= g->cap) return 0;
    struct gate_slot *slots = realloc(g->slots, jobs * sizeof(*slots));
    if (!slots) return -ENOMEM;
    g->slots = slots;
    uint32_t *high = realloc(g->high, jobs * sizeof(*high));
    if (!high) return -ENOMEM;
    g->high = high;
    for (uint32_t i = g->cap; i < jobs; i++)
        slots[i] = (struct gate_slot){0};
    g->cap = jobs;
    return 0;
}

bool gate_memory(void *self, memory_visit *visit, void *arg) {
    struct gate *g = self;
    return visit(arg, (void **)&g->slots, g->cap * sizeof(*g->slots)) &&
           visit(arg, (void **)&g->high, g->cap * sizeof(*g->high));
}

/* ---- rings ----------------------------------------------------------------------------------- */

static void gate_in(struct gate *g, uint32_t job) {
    struct gate_slot *s = &g->slots[job];
    uint32_t *turn = &g->turn[s->class];
    s->in = true;
    if (*turn == SCHED_NONE) {
        *turn = s->prev = s->next = job;
        return;
    }
    s->next = *turn; /* before who is served next: last */
    s->prev = g->slots[*turn].prev;
    g->slots[s->prev].next = g->slots[s->next].prev = job;
}

static void gate_out(struct gate *g, uint32_t job) {
    struct gate_slot *s = &g->slots[job];
    uint32_t *turn = &g->turn[s->class];
    s->in = false;
    if (*turn == job) *turn = s->next == job ? SCHED_NONE : s->next;
    g->slots[s->prev].next = s->next;
    g->slots[s->next].prev = s->prev;
}

static void gate_update(struct gate *g, const struct sched_state *st, uint32_t job) {
    bool wants = state_oldest(st, job) != SCHED_NONE;
    if (wants == g->slots[job].in) return;
    if (wants)
        gate_in(g, job);
    else
        gate_out(g, job);
}

/* ---- what is on the device ------------------------------------------------------------------- */

static void gate_count(struct gate *g, const struct sched_op *o, int change) {
    uint8_t class = g->slots[o->job].class;
    g->running[class] += (uint32_t)change;
    if (class == GATE_HIGH || !state_kernel(o)) return;
    g->kernels += (uint32_t)change;
    g->outstanding_ns += change > 0 ? o->expected_ns : -o->expected_ns;
}

static void gate_count_job(struct gate *g, const struct sched_state *st, uint32_t job, int change) {
    uint32_t op = st->jobs[job].head[SCHED_RUNNING];
    for (; op != SCHED_NONE; op = st->ops[op].next)
        gate_count(g, &st->ops[op], change);
}

/* ---- classes --------------------------------------------------------------------------------- */

static void gate_list(struct gate *g, uint32_t job) {
    g->slots[job].at = g->high_count;
    g->high[g->high_count++] = job;
}

static void gate_unlist(struct gate *g, uint32_t job) {
    uint32_t last = g->high[--g->high_count];
    g->high[g->slots[job].at] = last;
    g->slots[last].at = g->slots[job].at;
}

static void gate_requests(struct gate *g, const struct sched_state *st) {
    g->request_ns = g->high_count ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < g->high_count; i++) {
        uint64_t ns = state_request_ns(&st->jobs[g->high[i]]);
        if (ns < g->request_ns) g->request_ns = ns;
    }
}

static void gate_classify(struct gate *g, const struct sched_state *st, uint32_t job, bool high) {
    struct gate_slot *s = &g->slots[job];
    uint8_t class = high ? GATE_HIGH : GATE_BEST;
    if (class == s->class) return;
    if (s->in) gate_out(g, job);
    gate_count_job(g, st, job, -1);
    if (high)
        gate_list(g, job);
    else
        gate_unlist(g, job);
    s->class = class;
    gate_count_job(g, st, job, 1);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

void gate_moved(void *self, const struct sched_state *st, uint32_t op) {
    gate_update(self, st, st->ops[op].job);
}

void gate_started(void *self, const struct sched_state *st, uint32_t op) {
    struct gate *g = self;
    const struct sched_op *o = &st->ops[op];
    struct gate_slot *s = &g->slots[o->job];
    gate_count(g, o, 1);
    if (s->in && g->turn[s->class] == o->job) g->turn[s->class] = s->next;
    gate_update(g, st, o->job);
}

void gate_ended(void *self, const struct sched_state *st, uint32_t op) {
    gate_count(self, &st->ops[op], -1);
    gate_update(self, st, st->ops[op].job);
}

void gate_turned(void *self, const struct sched_state *st, uint32_t job) {
    struct gate *g = self;
    const struct sched_job *j = &st->jobs[job];
    bool high = j->admitted && !j->left && state_high(j);
    if (high || g->slots[job].class == GATE_HIGH) {
        gate_classify(g, st, job, high);
        gate_requests(g, st);
    }
    gate_update(g, st, job);
}

void gate_iterated(void *self, const struct sched_state *st, uint32_t job) {
    struct gate *g = self;
    if (g->slots[job].class == GATE_HIGH) gate_requests(g, st);
}

uint32_t gate_pick(const void *self, const struct sched_state *st, gate_pass *pass) {
    const struct gate *g = self;
    if (g->turn[GATE_HIGH] != SCHED_NONE) return state_oldest(st, g->turn[GATE_HIGH]);
    uint32_t first = g->turn[GATE_BEST], job = first;
    if (first == SCHED_NONE) return SCHED_NONE;
    do {
        uint32_t op = state_runnable(st, job, SCHED_MEMORY);
        if (op != SCHED_NONE) return op;
        op = state_runnable(st, job, SCHED_KERNEL);
        if (pass(self, st, op)) return op;
        job = g->slots[job].next;
    } while (job != first);
    return SCHED_NONE;
}

const struct sched_kernel *gate_kernel(const struct sched_state *st, uint32_t job) {
    uint32_t op = st->jobs[job].head[SCHED_RUNNING];
    while (op != SCHED_NONE && !state_kernel(&st->ops[op]))
        op = st->ops[op].next;
    return op == SCHED_NONE ? NULL : &st->ops[op].kernel;
}

/* ---- invariants ------------------------------------------------------------------------------ */

static const char *gate_check_job(const struct gate *g, const struct sched_state *st, uint32_t job,
                                  struct gate *sum) {
    const struct sched_job *j = &st->jobs[job];
    const struct gate_slot *s = &g->slots[job];
    if (!j->used) return s->in || s->class ? "gate: a job that is gone has a place" : NULL;
    if ((s->class == GATE_HIGH) != (j->admitted && !j->left && state_high(j)))
        return "gate: a job is in the wrong class";
    if (s->in != (state_oldest(st, job) != SCHED_NONE))
        return "gate: a ring has another job than those that can run";
    sum->high_count += s->class == GATE_HIGH;
    for (uint32_t op = j->head[SCHED_RUNNING]; op != SCHED_NONE; op = st->ops[op].next) {
        sum->running[s->class]++;
        if (s->class == GATE_HIGH || !state_kernel(&st->ops[op])) continue;
        sum->kernels++;
        sum->outstanding_ns += st->ops[op].expected_ns;
    }
    return NULL;
}

const char *gate_check(const void *self, const struct sched_state *st) {
    const struct gate *g = self;
    struct gate sum = {0};
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        const char *broken = gate_check_job(g, st, job, &sum);
        if (broken) return broken;
    }
    if (sum.high_count != g->high_count) return "gate: high-priority jobs were miscounted";
    if (sum.running[GATE_BEST] != g->running[GATE_BEST] ||
        sum.running[GATE_HIGH] != g->running[GATE_HIGH] || sum.kernels != g->kernels ||
        sum.outstanding_ns != g->outstanding_ns)
        return "gate: what is on the device was miscounted";
    return NULL;
}
