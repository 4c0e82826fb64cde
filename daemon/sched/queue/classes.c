/* SPDX-License-Identifier: Apache-2.0
 *
 * Two rings of jobs, and counters of operations on the device.
 */
#include "daemon/sched/queue/classes.h"

#include <errno.h>
#include <stdlib.h>

int classes_reserve(struct classes *c, uint32_t jobs) {
    if (jobs <= c->cap) return 0;
    struct class_slot *slots = realloc(c->slots, jobs * sizeof(*slots));
    if (!slots) return -ENOMEM;
    c->slots = slots;
    uint32_t *high = realloc(c->high, jobs * sizeof(*high));
    if (!high) return -ENOMEM;
    c->high = high;
    for (uint32_t i = c->cap; i < jobs; i++) {
        slots[i] = (struct class_slot){0};
        high[i] = CLASSES_NONE;
    }
    c->cap = jobs;
    return 0;
}

void classes_finish(struct classes *c) {
    free(c->slots);
    free(c->high);
    *c = (struct classes){0};
}

bool classes_memory(struct classes *c, memory_visit *visit, void *arg) {
    return visit(arg, (void **)&c->slots, c->cap * sizeof(*c->slots)) &&
           visit(arg, (void **)&c->high, c->cap * sizeof(*c->high));
}

void classes_clear(struct classes *c) {
    for (uint32_t i = 0; i < c->cap; i++)
        c->slots[i] = (struct class_slot){0};
    *c = (struct classes){
        .slots = c->slots, .high = c->high, .cap = c->cap, .first = {CLASSES_NONE, CLASSES_NONE}};
}

/* ---- rings ----------------------------------------------------------------------------------- */

static void join(struct classes *c, uint32_t job) {
    struct class_slot *s = &c->slots[job];
    uint32_t *first = &c->first[s->class];
    s->in = true;
    s->turn = ++c->turns;
    if (*first == CLASSES_NONE) {
        *first = s->prev = s->next = job;
        return;
    }
    s->next = *first; /* before the job that is served next, and thus last */
    s->prev = c->slots[*first].prev;
    c->slots[s->prev].next = c->slots[s->next].prev = job;
}

static void leave(struct classes *c, uint32_t job) {
    struct class_slot *s = &c->slots[job];
    uint32_t *first = &c->first[s->class];
    s->in = false;
    if (*first == job) *first = s->next == job ? CLASSES_NONE : s->next;
    c->slots[s->prev].next = s->next;
    c->slots[s->next].prev = s->prev;
}

void classes_wants(struct classes *c, uint32_t job, bool wants) {
    if (wants == c->slots[job].in) return;
    if (wants)
        join(c, job);
    else
        leave(c, job);
}

void classes_served(struct classes *c, uint32_t job) {
    struct class_slot *s = &c->slots[job];
    if (!s->in || c->first[s->class] != job) return;
    c->first[s->class] = s->next;
    s->turn = ++c->turns; /* now last in the ring */
}

/* ---- classes --------------------------------------------------------------------------------- */

void classes_set(struct classes *c, uint32_t job, enum class class) {
    struct class_slot *s = &c->slots[job];
    if (class == s->class) return;
    if (s->in) leave(c, job);
    s->class = (uint8_t) class;
    if (class == CLASS_HIGH) {
        s->at = c->high_count;
        c->high[c->high_count++] = job;
        return;
    }
    uint32_t last = c->high[--c->high_count];
    c->high[s->at] = last;
    c->slots[last].at = s->at;
}

void classes_count(struct classes *c, uint32_t job, bool kernel, uint32_t sms, uint64_t expected_ns,
                   int change) {
    enum class class = classes_of(c, job);
    c->running[class] += (uint32_t)change;
    if (class == CLASS_HIGH || !kernel) return;
    c->kernels += (uint32_t)change;
    c->outstanding_ns += change > 0 ? expected_ns : -expected_ns;
    c->sms += change > 0 ? sms : -(uint64_t)sms;
}
