/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairing heaps (M. L. Fredman and others, "The pairing heap", Algorithmica 1, 1986), and lists of
 * the heaps of AWAKE.
 */
#include "daemon/sched/policy/candidate_queue.h"

static struct candidate_job *at(struct candidate_queue_in in, uint32_t link) {
    return candidate_job(in, link - 1);
}

/* ---- heaps ----------------------------------------------------------------------------------- */

/* Joins two roots. */
static uint32_t meld(struct candidate_queue_in in, uint32_t a, uint32_t b) {
    if (!a || !b) return a ? a : b;
    if (at(in, b)->key < at(in, a)->key) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    struct candidate_job *parent = at(in, a), *child = at(in, b);
    child->next = parent->child;
    if (child->next) at(in, child->next)->prev = b;
    child->prev = a;
    parent->child = b;
    return a;
}

/* Joins siblings into one root: in pairs from the left, then these from the right. */
static uint32_t meld_siblings(struct candidate_queue_in in, uint32_t first) {
    uint32_t pairs = 0, root = 0;
    while (first) {
        uint32_t a = first, b = at(in, a)->next, rest = b ? at(in, b)->next : 0;
        at(in, a)->next = at(in, a)->prev = 0;
        if (b) at(in, b)->next = at(in, b)->prev = 0;
        uint32_t pair = meld(in, a, b);
        at(in, pair)->next = pairs;
        pairs = pair;
        first = rest;
    }
    while (pairs) {
        uint32_t next = at(in, pairs)->next;
        at(in, pairs)->next = 0;
        root = meld(in, root, pairs);
        pairs = next;
    }
    return root;
}

/* Replaces a job that is no root by its subtree `below` among its siblings. */
static void take_below(struct candidate_queue_in in, uint32_t link, uint32_t below) {
    struct candidate_job *j = at(in, link), *prev = at(in, j->prev);
    uint32_t instead = below ? below : j->next;
    if (prev->child == link)
        prev->child = instead;
    else
        prev->next = instead;
    if (below) {
        at(in, below)->prev = j->prev;
        at(in, below)->next = j->next;
    }
    if (j->next) at(in, j->next)->prev = below ? below : j->prev;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static uint32_t list_of(const struct forecast_use *use) {
    uint32_t list = use->slots / CANDIDATE_LIST_SLOTS;
    return list < CANDIDATE_LISTS ? list : CANDIDATE_LISTS - 1;
}

static bool is_same(const struct forecast_use *a, const struct forecast_use *b) {
    return a->ns == b->ns && a->wave_ns == b->wave_ns && a->slots == b->slots &&
           a->compute == b->compute && a->memory == b->memory;
}

static uint32_t find_kind(struct candidate_queue_in in, const struct forecast_use *use) {
    uint32_t root = in.all->kinds[list_of(use)];
    while (root && !is_same(&at(in, root)->use, use))
        root = at(in, root)->next_kind;
    return root;
}

static void list_kind(struct candidate_queue_in in, uint32_t root) {
    uint32_t list = list_of(&at(in, root)->use), *first = &in.all->kinds[list];
    at(in, root)->next_kind = *first;
    at(in, root)->prev_kind = 0;
    if (*first) at(in, *first)->prev_kind = root;
    *first = root;
    in.all->lists |= 1ull << list;
}

/* Puts `root` (0: none) into the list in place of `old`, the first job of its kind. */
static void replace_kind(struct candidate_queue_in in, uint32_t old, uint32_t root) {
    struct candidate_job *was = at(in, old);
    uint32_t list = list_of(&was->use), prev = was->prev_kind, next = was->next_kind;
    uint32_t instead = root ? root : next;
    if (prev)
        at(in, prev)->next_kind = instead;
    else
        in.all->kinds[list] = instead;
    if (next) at(in, next)->prev_kind = root ? root : prev;
    if (root) {
        at(in, root)->prev_kind = prev;
        at(in, root)->next_kind = next;
    }
    was->prev_kind = was->next_kind = 0;
    if (!in.all->kinds[list]) in.all->lists &= ~(1ull << list);
}

/* ---- places ---------------------------------------------------------------------------------- */

void candidate_mark(struct candidate_queue_in in, uint32_t job) {
    struct candidate_job *j = candidate_job(in, job);
    if (j->marked) return;
    j->marked = true;
    j->next_marked = in.all->marked;
    in.all->marked = job + 1;
}

uint32_t candidate_marked(struct candidate_queue_in in) {
    uint32_t link = in.all->marked;
    if (!link) return CANDIDATE_NONE;
    struct candidate_job *j = at(in, link);
    in.all->marked = j->next_marked;
    j->next_marked = 0;
    j->marked = false;
    return link - 1;
}

void candidate_take(struct candidate_queue_in in, uint32_t job) {
    struct candidate_job *j = candidate_job(in, job);
    if (j->place == CANDIDATE_NOWHERE) return;
    uint32_t link = job + 1, below = meld_siblings(in, j->child);
    if (j->prev)
        take_below(in, link, below);
    else if (j->place == CANDIDATE_COPIES)
        in.all->copies = below;
    else if (j->place == CANDIDATE_ASLEEP)
        in.all->asleep = below;
    else
        replace_kind(in, link, below);
    in.all->awake -= j->place == CANDIDATE_AWAKE;
    j->child = j->next = j->prev = 0;
    j->place = CANDIDATE_NOWHERE;
}

void candidate_copy(struct candidate_queue_in in, uint32_t job, uint64_t turn) {
    struct candidate_job *j = candidate_job(in, job);
    j->place = CANDIDATE_COPIES;
    j->key = turn;
    in.all->copies = meld(in, in.all->copies, job + 1);
}

void candidate_sleep(struct candidate_queue_in in, uint32_t job, uint64_t until_ns,
                     struct forecast_use use) {
    struct candidate_job *j = candidate_job(in, job);
    j->place = CANDIDATE_ASLEEP;
    j->key = until_ns;
    j->use = use;
    in.all->asleep = meld(in, in.all->asleep, job + 1);
}

void candidate_wake(struct candidate_queue_in in, uint32_t job, uint64_t turn,
                    struct forecast_use use) {
    struct candidate_job *j = candidate_job(in, job);
    uint32_t kind = find_kind(in, &use);
    j->place = CANDIDATE_AWAKE;
    j->key = turn;
    j->use = use;
    in.all->awake++;
    if (!kind)
        list_kind(in, job + 1);
    else if (meld(in, kind, job + 1) != kind)
        replace_kind(in, kind, job + 1);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is_root(struct candidate_queue_in in, uint32_t link) {
    const struct candidate_queue *w = in.all;
    const struct candidate_job *j = at(in, link);
    if (j->place == CANDIDATE_COPIES) return w->copies == link;
    if (j->place == CANDIDATE_ASLEEP) return w->asleep == link;
    return find_kind(in, &j->use) == link;
}

/* The job's ancestors in its heap precede it and are in the same place. */
static const char *check_above(struct candidate_queue_in in, uint32_t link) {
    const struct candidate_job *j = at(in, link), *above;
    uint32_t up = link;
    if (!j->prev) return is_root(in, link) ? NULL : "waiting: a heap has two roots";
    do {
        uint32_t below = up;
        up = at(in, below)->prev;
        if (at(in, up)->child == below) break;
        if (at(in, up)->next != below) return "waiting: siblings are not linked both ways";
    } while (true);
    above = at(in, up);
    if (above->place != j->place) return "waiting: a heap has jobs of two positions";
    if (j->place == CANDIDATE_AWAKE && !is_same(&above->use, &j->use))
        return "waiting: a kind has kernels of another one";
    return above->key <= j->key ? NULL : "waiting: a later job is before an earlier one";
}

const char *candidate_check(struct candidate_queue_in in, uint32_t jobs) {
    uint32_t awake = 0;
    for (uint32_t job = 0; job < jobs; job++) {
        const struct candidate_job *j = candidate_job(in, job);
        if (j->place == CANDIDATE_NOWHERE) continue;
        const char *broken = check_above(in, job + 1);
        if (broken) return broken;
        awake += j->place == CANDIDATE_AWAKE;
    }
    return awake == in.all->awake ? NULL : "waiting: jobs that are awake were miscounted";
}
