/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes, spilling, swapping.
 */
#include "daemon/worker/memory/residence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "common/reason.h"
#include "daemon/worker/client.h"
#include "daemon/worker/fault.h"
#include "daemon/worker/link/broker_link.h"
#include "daemon/worker/memory/clearing.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_swap.h"
#include "daemon/worker/stats.h"

/* A client that has lost memory which the scheduler had given it cannot go on. */
static void residence_failed(struct client *c, const char *what, int err) {
    char text[128];
    snprintf(text, sizeof(text), "%s: %s", what, err_text(err));
    fault_raise(c, err == -ENOMEM ? ERR_NO_MEMORY : err, text);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static int residence_lane(struct worker *w, uint32_t lane) {
    if (lane >= w->lane_count) {
        uint32_t count = w->lane_count ? w->lane_count : 16;
        while (count <= lane)
            count *= 2;
        struct residence *lanes = realloc(w->lanes, count * sizeof(*lanes));
        if (!lanes) return -ENOMEM;
        memset(lanes + w->lane_count, 0, (count - w->lane_count) * sizeof(*lanes));
        w->lanes = lanes;
        w->lane_count = count;
    }
    struct residence *r = &w->lanes[lane];
    return r->chunks ? 0 : memory_lane_create(&r->chunks, w->ops, w->dev);
}

static void residence_drop(struct worker *w, uint32_t lane) {
    struct residence *r = &w->lanes[lane];
    if (r->clients) return;
    memory_lane_destroy(r->chunks);
    *r = (struct residence){0};
}

void residence_leave(struct client *c) {
    struct worker *w = c->worker;
    if (c->lane == SCHED_NO_LANE) return;
    uint32_t lane = c->lane;
    c->lane = SCHED_NO_LANE;
    w->lanes[lane].clients--;
    residence_drop(w, lane);
}

void residence_finish(struct worker *w) {
    for (uint32_t i = 0; i < w->lane_count; i++)
        residence_drop(w, i);
    free(w->lanes);
}

uint64_t residence_bytes(const struct worker *w, uint32_t lane) {
    const struct residence *r = lane < w->lane_count ? &w->lanes[lane] : NULL;
    return r && r->chunks ? memory_lane_bytes(r->chunks) : 0;
}

static void residence_away(struct client *c) {
    c->away = c->memory &&
              (memory_spilled(c->memory) || memory_swapped(c->memory) || clearing_pending(c));
}

uint64_t residence_cleared(const struct worker *w, uint32_t lane) {
    const struct residence *r = lane < w->lane_count ? &w->lanes[lane] : NULL;
    return r && r->chunks ? memory_lane_cleared(r->chunks) : 0;
}

/* ---- out of the lane, and back --------------------------------------------------------------- */

static void residence_spill(struct client *c) {
    uint64_t moved = 0;
    if (!c->memory || memory_spilled(c->memory)) return;
    int err = memory_spill(c->memory, true, &moved);
    stats_add(&c->com->stats.switch_bytes, moved);
    c->away = true;
    if (err) residence_failed(c, "its ephemeral memory could not be taken to host memory", err);
}

/* Nobody else of the lane may have data in it now. */
static void residence_clear(struct worker *w, uint32_t lane, const struct client *but) {
    struct list *pos;
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (c != but && c->lane == lane && c->stranded) residence_spill(c);
    }
}

static void residence_restore(struct client *c) {
    uint64_t moved = 0;
    if (!c->memory || !memory_spilled(c->memory)) return;
    residence_clear(c->worker, c->lane, c);
    int err = memory_restore(c->memory, &moved);
    stats_add(&c->com->stats.switch_bytes, moved);
    residence_away(c);
    if (err) residence_failed(c, "its ephemeral memory could not be brought back", err);
}

/* Its lane may shrink to nothing meanwhile. At a boundary its pages there hold nothing, or what is
 * stranded, which goes to host memory first. */
static void residence_swap_out(struct client *c) {
    uint64_t moved = 0;
    if (!c->memory || memory_swapped(c->memory)) return;
    if (c->stranded) residence_spill(c);
    int err = memory_swap_out(c->memory, &moved);
    if (!err) err = memory_join(c->memory, NULL);
    stats_add(&c->com->stats.swaps, 1);
    stats_add(&c->com->stats.swap_bytes, moved);
    c->away = true;
    c->deaf |= CLIENT_OUT;
    if (err) residence_failed(c, "its persistent memory could not be taken to host memory", err);
}

static void residence_swap_in(struct client *c) {
    uint64_t moved = 0;
    if (!c->memory || !memory_swapped(c->memory)) return;
    int err = memory_join(c->memory, c->worker->lanes[c->lane].chunks);
    if (!err) err = memory_swap_in(c->memory, &moved);
    stats_add(&c->com->stats.swap_bytes, moved);
    residence_away(c);
    c->deaf &= (uint8_t)~CLIENT_OUT;
    boundary_ready(&c->boundary, &c->worker->passing); /* for what is deferred: defer.c */
    if (err) residence_failed(c, "its persistent memory could not be brought back", err);
}

void residence_return(struct client *c) {
    if (!c->memory) return;
    residence_swap_in(c);
    residence_restore(c);
    residence_away(c);
}

/* ---- actions --------------------------------------------------------------------------------- */

static void residence_move(struct client *c, uint32_t lane) {
    struct worker *w = c->worker;
    if (!c->memory || c->lane == lane) return;
    int err = residence_lane(w, lane);
    if (c->stranded) residence_spill(c);
    if (!err) err = memory_join(c->memory, w->lanes[lane].chunks);
    if (err) {
        residence_failed(c, "its lane could not be made", err);
        return;
    }
    residence_leave(c);
    c->lane = lane;
    w->lanes[lane].clients++;
}

/* Pages of a client that lie high in the lane, because lower ones were freed, are mapped anew: at
 * a boundary there is nothing in them. */
static void residence_pack(struct worker *w, uint32_t lane) {
    struct list *pos;
    residence_clear(w, lane, NULL);
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->lane != lane || !c->memory || memory_spilled(c->memory)) continue;
        int err = memory_join(c->memory, w->lanes[lane].chunks);
        if (err) residence_failed(c, "its lane could not be packed", err);
    }
}

static void residence_resize(struct worker *w, uint32_t lane, uint64_t bytes) {
    if (residence_bytes(w, lane) <= bytes) return;
    struct residence *r = &w->lanes[lane];
    int err = memory_lane_shrink(r->chunks, bytes);
    if (err == -EBUSY) {
        residence_pack(w, lane);
        err = memory_lane_shrink(r->chunks, bytes);
    }
    if (err)
        log_warn("lane", "lane=%u bytes=%" PRIu64 " shrink=%" PRIu64 " error=%s", lane,
                 memory_lane_bytes(r->chunks), bytes, err_name(err));
}

static void residence_switch(struct client *c, uint32_t lane) {
    struct residence *r = &c->worker->lanes[lane];
    residence_clear(c->worker, lane, c);
    residence_restore(c);
    if (c->memory && !client_dead(c)) clearing_begin(c);
    residence_away(c);
    if (r->last && r->last != c->job_id) stats_add(&c->com->stats.switches, 1);
    r->last = c->job_id;
}

static void residence_refuse(struct client *c, enum sched_why why) {
    char text[256];
    snprintf(text, sizeof(text),
             "not admitted: %s (persistent %" PRIu64 " MiB + ephemeral %" PRIu64
             " MiB, device %" PRIu64 " MiB)",
             reason_why(why), c->spec.persistent_bytes >> 20, c->spec.ephemeral_bytes >> 20,
             c->worker->info.memory_bytes >> 20);
    broker_link_refused(c->worker, c, text);
    fault_raise(c, ERR_NO_MEMORY, text);
}

void residence_act(struct worker *w, const struct sched_action *a) {
    if (a->kind == SCHED_LANE) {
        residence_resize(w, a->lane, a->bytes);
        return;
    }
    struct client *c = worker_client(w, a->job);
    if (!c) return; /* it left in this very step */
    switch (a->kind) {
    case SCHED_ADMIT:
        residence_move(c, a->lane);
        client_admitted(c);
        break;
    case SCHED_REFUSE: residence_refuse(c, a->why); break;
    case SCHED_MOVE: residence_move(c, a->lane); break;
    case SCHED_SWITCH: residence_switch(c, a->lane); break;
    case SCHED_SPILL: residence_spill(c); break;
    case SCHED_RESTORE: residence_restore(c); break;
    case SCHED_SWAP_OUT: residence_swap_out(c); break;
    case SCHED_SWAP_IN: residence_swap_in(c); break;
    default: break;
    }
}
