/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of moves. There are few: each is compared with the earlier ones.
 */
#include "daemon/worker/residency/memory_move.h"

#include <stdlib.h>

#include "daemon/worker/client.h"
#include "daemon/worker/memory/memory_lane.h"

static struct move *move_at(const struct list *pos) {
    return list_entry(pos, struct move, link);
}

struct move *memory_move_add(struct worker *w, enum move_kind kind, struct client *c,
                             uint32_t lane) {
    struct move *mv = calloc(1, sizeof(*mv));
    if (!mv) return NULL;
    *mv = (struct move){.kind = kind, .client = c, .lane = lane};
    list_append(&w->moves.list, &mv->link);
    if (!c) return mv;
    c->moves++;
    c->displaced = true;
    return mv;
}

void memory_move_remove(struct worker *w, struct move *mv) {
    if (mv->client) mv->client->moves--;
    if (mv->parts > w->moves.parts) w->moves.parts = mv->parts;
    list_remove(&mv->link);
    free(mv);
}

void memory_move_round(struct worker *w) {
    struct list *pos;
    uint32_t count = 0;
    w->moves.left = w->moves.most;
    list_each(pos, &w->moves.list) {
        struct move *mv = move_at(pos);
        mv->has_share = memory_move_may(w, mv);
        mv->waits = false;
        count += mv->has_share;
    }
    list_each(pos, &w->moves.list) {
        struct move *mv = move_at(pos);
        if (mv->has_share) mv->left = count < w->moves.most ? w->moves.most / count : 1;
    }
}

void memory_move_pay(struct worker *w, struct move *mv, uint64_t granules) {
    uint32_t n = (uint32_t)granules;
    mv->granules += n;
    mv->left -= n < mv->left ? n : mv->left;
    w->moves.left -= n < w->moves.left ? n : w->moves.left;
    pace_add(&w->moves.pace, n);
}

/* Drops the client's moves behind this one. */
static void drop_behind(struct worker *w, const struct client *c, const struct list *before) {
    struct list *pos = before->next, *next;
    for (; pos != &w->moves.list; pos = next) {
        struct move *mv = move_at(pos);
        next = pos->next;
        if (mv->client == c) memory_move_remove(w, mv);
    }
}

void memory_move_forget(struct worker *w, const struct client *c) {
    drop_behind(w, c, &w->moves.list);
}

static struct move *first_of(const struct worker *w, const struct client *c) {
    struct list *pos;
    list_each(pos, &w->moves.list) if (move_at(pos)->client == c) return move_at(pos);
    return NULL;
}

/* The end takes the place of the client's first move, whose freed memory later moves wait for. */
bool memory_move_end(struct worker *w, struct client *c) {
    struct move *mv = first_of(w, c);
    if (mv)
        mv->kind = MOVE_END;
    else
        mv = memory_move_add(w, MOVE_END, c, SCHED_NO_LANE);
    if (mv) drop_behind(w, c, &mv->link);
    return mv != NULL;
}

/* ---- order of moves -------------------------------------------------------------------------- */

/* True for moves after which the device has less free memory. */
static bool takes_memory(const struct move *mv) {
    return mv->kind == MOVE_ADMIT || mv->kind == MOVE_LANE || mv->kind == MOVE_IN ||
           mv->kind == MOVE_RETURN;
}

/* The lane whose bytes the move concerns; none if the client has left its lane or has yet to enter.
 */
static uint32_t lane_of(const struct move *mv) {
    const struct client *c = mv->client;
    if (mv->kind == MOVE_SHRINK || mv->kind == MOVE_SWITCH) return mv->lane;
    const struct memory *m = c->memory ? c->memory : c->ending;
    return m && memory_in_lane(m) ? c->lane : SCHED_NO_LANE;
}

/* True when the move reads or writes bytes of the lane that are needed. The bytes of an ending
 * client are not needed. */
static bool uses_lane(const struct move *mv) {
    return mv->kind != MOVE_END;
}

static bool comes_after(const struct move *mv, const struct move *before) {
    if (takes_memory(mv) || (mv->client && mv->client == before->client)) return true;
    uint32_t lane = lane_of(mv);
    bool goes_there = before->client && before->client->next_lane == lane;
    if (lane == SCHED_NO_LANE || (lane != lane_of(before) && !goes_there)) return false;
    if (mv->kind == MOVE_SHRINK || before->kind == MOVE_SHRINK) return true;
    return uses_lane(mv) && uses_lane(before);
}

/* A dead client's moves never become ready; its end takes the place of the first. An end is ready
 * once the memory is released. */
static bool is_ready(const struct move *mv) {
    if (mv->kind == MOVE_END) return mv->client->ending != NULL;
    return !mv->client || !client_dead(mv->client);
}

bool memory_move_may(const struct worker *w, const struct move *mv) {
    const struct list *pos;
    if (!is_ready(mv)) return false;
    /* it only frees memory, and its client has no other move */
    if (mv->kind == MOVE_END) return true;
    for (pos = w->moves.list.next; pos != &mv->link; pos = pos->next)
        if (comes_after(mv, move_at(pos))) return false;
    return true;
}

bool memory_move_ready(const struct worker *w) {
    const struct list *pos;
    list_each(pos, &w->moves.list) if (memory_move_may(w, move_at(pos))) return true;
    return false;
}

bool memory_move_any(const struct worker *w) {
    return !list_empty(&w->moves.list);
}

bool memory_move_shrinks(const struct worker *w, uint32_t lane) {
    const struct list *pos;
    list_each(pos, &w->moves.list) {
        const struct move *mv = move_at(pos);
        if (mv->kind == MOVE_SHRINK && mv->lane == lane) return true;
    }
    return false;
}

bool memory_move_comes(const struct move *mv) {
    return mv->kind == MOVE_ADMIT || mv->kind == MOVE_IN;
}
