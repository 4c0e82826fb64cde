/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns trials to GPUs.
 */
#include "daemon/tune/strips.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/tune/shares.h"

static const struct strip nobodys = {
    .here = true, .owner = STRIPS_NONE, .next = STRIPS_NONE, .room = UINT32_MAX};

static bool is_idle(const struct strip *g) {
    return g->here && g->owner == STRIPS_NONE && !g->sharers;
}

/* ---- GPUs that appear and disappear ---------------------------------------------------------- */

int strips_init(struct strips *s, uint32_t most, uint32_t here) {
    *s = (struct strips){.most = most};
    s->at = calloc(most ? most : 1, sizeof(*s->at));
    if (!s->at) return -ENOMEM;
    for (uint32_t i = 0; i < most; i++)
        s->at[i].owner = s->at[i].next = STRIPS_NONE;
    for (uint32_t i = 0; i < here; i++)
        strips_come(s, i);
    return 0;
}

void strips_finish(struct strips *s) {
    free(s->at);
}

void strips_come(struct strips *s, uint32_t gpu) {
    s->at[gpu] = nobodys;
    s->here++;
    s->idle++;
}

void strips_go(struct strips *s, uint32_t gpu) {
    s->idle -= is_idle(&s->at[gpu]);
    s->here--;
    s->at[gpu] = (struct strip){.owner = STRIPS_NONE, .next = STRIPS_NONE};
}

/* ---- sharers --------------------------------------------------------------------------------- */

static void add_sharer(struct strips *s, uint32_t gpu, const struct trial *t) {
    struct strip *g = &s->at[gpu];
    s->idle -= is_idle(g);
    g->sharers++;
    g->weight += t->share;
    g->load_ns += t->left_ns;
    if (t->packed_most < g->room) g->room = t->packed_most;
}

void strips_recount(struct strips *s, const struct trials *trials) {
    s->idle = 0;
    for (uint32_t i = 0; i < s->most; i++) {
        struct strip *g = &s->at[i];
        g->sharers = 0;
        g->weight = g->load_ns = 0;
        g->room = UINT32_MAX;
        s->idle += is_idle(g);
    }
    for (uint32_t i = 0; i < trials->count; i++) {
        const struct trial *t = &trials->at[trials->in_order[i]];
        if (t->share > 0 && t->share < 1) add_sharer(s, t->gpu, t);
    }
}

double strips_part(const struct strips *s, const struct trial *t) {
    if (t->share == 0 || t->share >= 1) return t->share;
    const struct strip *g = &s->at[t->gpu];
    return g->sharers == 1 ? 1 : fmin(1, t->share / g->weight);
}

uint32_t strips_open(const struct strips *s, const struct trial *t, double share, bool full) {
    uint32_t found = STRIPS_NONE;
    for (uint32_t i = 0; i < s->most; i++) {
        const struct strip *g = &s->at[i];
        if (!g->here || g->owner != STRIPS_NONE) continue;
        if (g->sharers >= g->room || g->sharers >= t->packed_most) continue;
        if (full && g->sharers && g->weight + share > 1 + SHARES_SLACK) continue;
        if (found == STRIPS_NONE || g->load_ns < s->at[found].load_ns) found = i;
    }
    return found;
}

void strips_join(struct strips *s, struct trial *t, uint32_t gpu, double share) {
    t->share = share;
    t->gpu = gpu;
    t->moved = true;
    add_sharer(s, gpu, t);
}

/* `room` is not updated until the next recount; until then it is at most too small. */
void strips_part_with(struct strips *s, struct trial *t) {
    struct strip *g = &s->at[t->gpu];
    g->sharers--;
    g->weight -= t->share;
    g->load_ns -= t->left_ns;
    if (!g->sharers) *g = nobodys;
    s->idle += !g->sharers;
    t->gpu = STRIPS_NONE;
    t->moved = true;
}

/* ---- whole GPUs ------------------------------------------------------------------------------ */

void strips_take(struct strips *s, struct trial *t, uint32_t place, uint32_t count) {
    uint32_t *end = &t->gpu;
    while (*end != STRIPS_NONE)
        end = &s->at[*end].next;
    for (uint32_t i = 0; count; i++) {
        if (!is_idle(&s->at[i])) continue;
        s->at[i].owner = place;
        s->idle--;
        *end = i;
        end = &s->at[i].next;
        count--;
    }
    t->moved = true;
}

void strips_leave(struct strips *s, struct trial *t, uint32_t count) {
    uint32_t *end = &t->gpu;
    for (; count; count--)
        end = &s->at[*end].next;
    uint32_t gone = *end;
    *end = STRIPS_NONE;
    while (gone != STRIPS_NONE) {
        struct strip *g = &s->at[gone];
        gone = g->next;
        g->next = STRIPS_NONE;
        g->leaving = true;
    }
    t->moved = true;
}

static void clear_owned(struct strips *s, uint32_t place, bool all) {
    for (uint32_t i = 0; i < s->most; i++) {
        struct strip *g = &s->at[i];
        if (g->owner != place || !(all || g->leaving)) continue;
        *g = nobodys;
        s->idle++;
    }
}

void strips_settle(struct strips *s, uint32_t place) {
    clear_owned(s, place, false);
}

void strips_free(struct strips *s, struct trial *t, uint32_t place) {
    if (t->share > 0 && t->share < 1) strips_part_with(s, t);
    clear_owned(s, place, true);
    t->gpu = STRIPS_NONE;
    t->moved = true;
}

void strips_drop(struct strips *s, struct trial *t, uint32_t gpu) {
    uint32_t *at = &t->gpu;
    while (*at != STRIPS_NONE && *at != gpu)
        at = &s->at[*at].next;
    if (*at == STRIPS_NONE) return; /* the trial was to leave it */
    *at = s->at[gpu].next;
    t->moved = true;
}

void strips_share(struct strips *s, struct trial *t, double share) {
    struct strip *g = &s->at[t->gpu];
    g->owner = g->next = STRIPS_NONE;
    t->share = share;
    s->idle++; /* add_sharer subtracts one again */
    add_sharer(s, t->gpu, t);
}
