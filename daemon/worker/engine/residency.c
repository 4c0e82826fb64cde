/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes, spilling, swapping.
 */
#include "daemon/worker/engine/residency.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/err.h"
#include "common/log.h"
#include "common/reason.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/clearing.h"
#include "daemon/worker/engine/fault.h"
#include "daemon/worker/link/broker_link.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_swap.h"
#include "daemon/worker/stats.h"

/* A client that has lost memory which the scheduler had given it cannot go on. */
static void fail_client(struct client *c, const char *what, int err) {
    char text[128];
    snprintf(text, sizeof(text), "%s: %s", what, err_text(err));
    fault_raise(c, err == -ENOMEM ? ERR_NO_MEMORY : err, text);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

void residency_leave(struct client *c) {
    if (c->lane == SCHED_NO_LANE) return;
    lane_table_leave(&c->worker->lanes, c->lane);
    c->lane = SCHED_NO_LANE;
}

static void look_again(struct client *c) {
    c->displaced = c->memory &&
                   (memory_spilled(c->memory) || memory_swapped(c->memory) || clearing_pending(c));
}

/* ---- out of the lane, and back --------------------------------------------------------------- */

static void spill_client(struct client *c) {
    uint64_t moved = 0;
    if (!c->memory || memory_spilled(c->memory)) return;
    int err = memory_spill(c->memory, true, MEMORY_ALL, &moved);
    stats_add(&c->com.page->stats.switched_bytes, moved);
    c->displaced = true;
    if (err) fail_client(c, "its ephemeral memory could not be taken to host memory", err);
}

/* Nobody else of the lane may have data in it now. */
static void clear_lane(struct worker *w, uint32_t lane, const struct client *but) {
    struct list *pos;
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (c != but && c->lane == lane && c->stranded) spill_client(c);
    }
}

static void restore_client(struct client *c) {
    uint64_t moved = 0;
    if (!c->memory || !memory_spilled(c->memory)) return;
    clear_lane(c->worker, c->lane, c);
    int err = memory_restore(c->memory, MEMORY_ALL, &moved);
    stats_add(&c->com.page->stats.switched_bytes, moved);
    look_again(c);
    if (err) fail_client(c, "its ephemeral memory could not be brought back", err);
}

/* Its lane may shrink to nothing meanwhile. At a boundary its pages there hold nothing, or what is
 * stranded, which goes to host memory first. */
static void swap_out(struct client *c) {
    uint64_t moved = 0;
    if (!c->memory || memory_swapped(c->memory)) return;
    if (c->stranded) spill_client(c);
    int err = memory_swap_out(c->memory, MEMORY_ALL, &moved);
    if (!err) err = memory_join(c->memory, NULL);
    stats_add(&c->com.page->stats.swaps, 1);
    stats_add(&c->com.page->stats.swapped_bytes, moved);
    c->displaced = true;
    c->throttled |= CLIENT_OUT;
    c->wanted = false;
    if (err) fail_client(c, "its persistent memory could not be taken to host memory", err);
}

static void swap_in(struct client *c) {
    uint64_t moved = 0;
    if (!c->memory || !memory_swapped(c->memory)) return;
    int err = memory_join(c->memory, c->worker->lanes.items[c->lane].chunks);
    if (!err) err = memory_swap_in(c->memory, MEMORY_ALL, &moved);
    stats_add(&c->com.page->stats.swapped_bytes, moved);
    look_again(c);
    c->throttled &= (uint8_t)~CLIENT_OUT;
    boundary_ready(&c->boundary, &c->worker->passing); /* for what is deferred: defer.c */
    if (err) fail_client(c, "its persistent memory could not be brought back", err);
}

void residency_return(struct client *c) {
    if (!c->memory) return;
    swap_in(c);
    restore_client(c);
    look_again(c);
}

/* ---- actions --------------------------------------------------------------------------------- */

static void move_client(struct client *c, uint32_t lane) {
    struct worker *w = c->worker;
    if (!c->memory || c->lane == lane) return;
    int err = lane_table_open(&w->lanes, lane, w->ops, w->dev);
    if (c->stranded) spill_client(c);
    if (!err) err = memory_join(c->memory, w->lanes.items[lane].chunks);
    if (err) {
        fail_client(c, "its lane could not be made", err);
        return;
    }
    residency_leave(c);
    c->lane = lane;
    lane_table_enter(&w->lanes, lane);
}

/* Pages of a client that lie high in the lane, because lower ones were freed, are mapped anew: at
 * a boundary there is nothing in them. */
static void pack_lane(struct worker *w, uint32_t lane) {
    struct list *pos;
    clear_lane(w, lane, NULL);
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->lane != lane || !c->memory || memory_spilled(c->memory)) continue;
        int err = memory_join(c->memory, w->lanes.items[lane].chunks);
        if (err) fail_client(c, "its lane could not be packed", err);
    }
}

static void resize_lane(struct worker *w, uint32_t lane, uint64_t bytes) {
    if (lane_table_bytes(&w->lanes, lane) <= bytes) return;
    struct memory_lane *chunks = w->lanes.items[lane].chunks;
    int err = memory_lane_shrink(chunks, bytes, MEMORY_ALL);
    if (err == -EBUSY) {
        pack_lane(w, lane);
        err = memory_lane_shrink(chunks, bytes, MEMORY_ALL);
    }
    if (err)
        log_warn("lane", "lane=%u bytes=%" PRIu64 " shrink=%" PRIu64 " error=%s", lane,
                 memory_lane_bytes(chunks), bytes, err_name(err));
}

static void switch_lane(struct client *c, uint32_t lane) {
    struct lane *l = &c->worker->lanes.items[lane];
    clear_lane(c->worker, lane, c);
    restore_client(c);
    if (c->memory && !client_dead(c)) clearing_begin(c);
    look_again(c);
    if (l->last && l->last != c->job_id) stats_add(&c->com.page->stats.switches, 1);
    l->last = c->job_id;
}

/* Its ring is read from now on. */
static void take_admitted(struct client *c) {
    c->throttled &= (uint8_t)~CLIENT_WAITS;
    credit_admit(&c->credit);
    credit_show(&c->credit, c->memory, c->com.page);
}

static void refuse_client(struct client *c, enum sched_why why) {
    char text[256];
    snprintf(text, sizeof(text),
             "not admitted: %s (persistent %" PRIu64 " MiB + ephemeral %" PRIu64
             " MiB, device %" PRIu64 " MiB)",
             reason_why(why), c->credit.reserved_p >> 20, c->credit.reserved_e >> 20,
             c->worker->info.memory_bytes >> 20);
    broker_link_refused(&c->worker->link, c->job_id, text);
    fault_raise(c, ERR_NO_MEMORY, text);
}

void residency_act(struct worker *w, const struct sched_action *a) {
    if (a->kind == SCHED_LANE) {
        resize_lane(w, a->lane, a->bytes);
        return;
    }
    struct client *c = client_find(w, a->job);
    if (!c) return; /* it left in this very step */
    switch (a->kind) {
    case SCHED_ADMIT:
        move_client(c, a->lane);
        take_admitted(c);
        break;
    case SCHED_REFUSE: refuse_client(c, a->why); break;
    case SCHED_MOVE: move_client(c, a->lane); break;
    case SCHED_SWITCH: switch_lane(c, a->lane); break;
    case SCHED_SPILL: spill_client(c); break;
    case SCHED_RESTORE: restore_client(c); break;
    case SCHED_SWAP_OUT: swap_out(c); break;
    case SCHED_SWAP_IN: swap_in(c); break;
    default: break;
    }
}
