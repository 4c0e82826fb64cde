/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores jobs by index, by id, and in order.
 */
#include "daemon/place/state/jobs.h"

#include <stdlib.h>

#include "daemon/place/state/place_growth.h"

/* A fixed seed suffices: ids are the caller's own, so nobody attacks the hash table. */
#define SEED 0xa0761d6478bd642full

static uint64_t hash(uint64_t id) {
    return slotmap_hash_word(id, SEED);
}

void jobs_init(struct jobs *j) {
    *j = (struct jobs){.free = JOBS_NONE, .first = JOBS_NONE, .last = JOBS_NONE};
}

void jobs_finish(struct jobs *j) {
    free(j->at);
    slotmap_finish(&j->ids);
}

int jobs_reserve(struct jobs *j, uint64_t more) {
    int err = 0;
    if (!more) return 0;
    j->at = place_growth_for(j->at, &j->capacity, j->used + more, sizeof(*j->at), &err);
    return err ? err : slotmap_reserve(&j->ids, j->capacity);
}

uint32_t jobs_find(const struct jobs *j, uint64_t id) {
    struct slotmap_walk walk = slotmap_walk(&j->ids, hash(id));
    uint32_t place;
    while ((place = slotmap_next(&j->ids, &walk)) != SLOTMAP_NONE)
        if (j->at[place].id == id) return place;
    return JOBS_NONE;
}

uint32_t jobs_add(struct jobs *j, uint64_t id, const struct demand *d, int64_t told_ns) {
    uint32_t place = j->free;
    if (place != JOBS_NONE)
        j->free = j->at[place].next_free;
    else
        place = j->used++;
    j->at[place] = (struct job){.id = id,
                                .demand = *d,
                                .state = JOBS_REFUSED,
                                .turn = j->turns++,
                                .told_ns = told_ns,
                                .first_seat = JOBS_NONE,
                                .newcomer = {.job = JOBS_NONE},
                                .shunned = {.job = JOBS_NONE}};
    j->count++;
    j->gpus += demand_gpus(d);
    slotmap_add(&j->ids, hash(id), place);
    return place;
}

/* ---- the order ------------------------------------------------------------------------------- */

static bool goes_before(const struct job *a, const struct job *b) {
    return a->first != b->first ? a->first : a->turn < b->turn;
}

/* The job before which this one is inserted; JOBS_NONE: at the end. A new job goes to the end
 * without a search. */
static uint32_t behind(const struct jobs *j, const struct job *it) {
    if (j->last == JOBS_NONE || goes_before(&j->at[j->last], it)) return JOBS_NONE;
    uint32_t at = j->first;
    while (goes_before(&j->at[at], it))
        at = j->at[at].next;
    return at;
}

static void link_in(struct jobs *j, uint32_t place, uint32_t next) {
    struct job *it = &j->at[place];
    it->next = next;
    it->before = next != JOBS_NONE ? j->at[next].before : j->last;
    *(it->before != JOBS_NONE ? &j->at[it->before].next : &j->first) = place;
    *(next != JOBS_NONE ? &j->at[next].before : &j->last) = place;
}

static void wait_there(struct jobs *j, uint32_t place, int64_t since_ns) {
    struct job *it = &j->at[place];
    link_in(j, place, behind(j, it));
    it->state = JOBS_WAITING;
    it->since_ns = since_ns;
    it->tried = 0;
    if (it->next != JOBS_NONE && j->at[it->next].since_ns < it->since_ns)
        it->since_ns = j->at[it->next].since_ns;
    if (it->before != JOBS_NONE && j->at[it->before].since_ns > it->since_ns)
        it->since_ns = j->at[it->before].since_ns;
    j->waiting++;
    j->untried++;
}

void jobs_wait(struct jobs *j, uint32_t place) {
    wait_there(j, place, j->at[place].told_ns);
}

void jobs_wait_first(struct jobs *j, uint32_t place) {
    j->at[place].first = true;
    jobs_wait(j, place);
}

void jobs_wait_last(struct jobs *j, uint32_t place, int64_t now_ns) {
    j->at[place].turn = j->turns++;
    j->at[place].told_ns = now_ns;
    jobs_wait(j, place);
}

static void leave_order(struct jobs *j, uint32_t place) {
    struct job *it = &j->at[place];
    *(it->before != JOBS_NONE ? &j->at[it->before].next : &j->first) = it->next;
    *(it->next != JOBS_NONE ? &j->at[it->next].before : &j->last) = it->before;
    j->waiting--;
    if (!it->tried) j->untried--;
    it->first = false;
}

void jobs_run(struct jobs *j, uint32_t place, int64_t now_ns) {
    struct job *it = &j->at[place];
    if (it->state == JOBS_WAITING) leave_order(j, place);
    it->state = JOBS_RUNNING;
    it->start = ++j->starts;
    it->started_ns = now_ns;
    it->overtaken = 0;
    it->speed = it->before_speed = 0;
    it->newcomer.job = it->shunned.job = JOBS_NONE;
}

void jobs_refuse(struct jobs *j, uint32_t place) {
    struct job *it = &j->at[place];
    if (it->state == JOBS_WAITING) leave_order(j, place);
    it->state = JOBS_REFUSED;
    j->gpus -= demand_gpus(&it->demand);
}

void jobs_remove(struct jobs *j, uint32_t place) {
    struct job *it = &j->at[place];
    if (it->state == JOBS_WAITING) leave_order(j, place);
    if (it->state != JOBS_REFUSED) j->gpus -= demand_gpus(&it->demand);
    slotmap_remove(&j->ids, hash(it->id), place);
    it->start = 0;
    it->next_free = j->free;
    j->free = place;
    j->count--;
}

bool jobs_goes_before(const struct jobs *j, uint32_t a, uint32_t b) {
    return goes_before(&j->at[a], &j->at[b]);
}

void jobs_set_tried(struct jobs *j, uint32_t place, uint64_t tried) {
    struct job *it = &j->at[place];
    if (!it->tried) j->untried--;
    it->tried = tried;
    if (!tried) j->untried++;
}

bool jobs_is_there(const struct jobs *j, const struct jobs_other *other) {
    return other->job != JOBS_NONE && j->at[other->job].state == JOBS_RUNNING &&
           j->at[other->job].start == other->start;
}
