/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes, spilling, swapping.
 */
#include "daemon/worker/residency/residency.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/policy/reason.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/link/broker_link.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_join.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/memory/memory_swap.h"
#include "daemon/worker/residency/lane_clear.h"
#include "daemon/worker/residency/memory_move.h"
#include "daemon/worker/residency/obtainable.h"
#include "daemon/worker/stats.h"

/* A client that lost memory which the scheduler had given it cannot continue. */
static void fail_client(struct client *c, const char *what, int err) {
    char text[128];
    snprintf(text, sizeof(text), "%s: %s", what, err_text(err));
    fault_raise(c, err == -ENOMEM ? ERR_NO_MEMORY : err, text);
}

/* ---- parts ------------------------------------------------------------------------------------
 *
 * A step of a move uses up its granules of this round, and returns whether the move is finished. If
 * not, it is called again in the next round. Progress is recorded in the memory itself. */

static void pay_bytes(struct worker *w, struct move *mv, uint64_t bytes) {
    memory_move_pay(w, mv, bytes / w->info.granularity_bytes);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static void leave_one(struct client *c, uint32_t *lane) {
    if (*lane != SCHED_NO_LANE) lane_table_leave(&c->worker->lanes, *lane);
    *lane = SCHED_NO_LANE;
}

/* Leaves its lane, and the lane to which it is moving. */
static void leave_lane(struct client *c) {
    leave_one(c, &c->lane);
    leave_one(c, &c->next_lane);
}

static bool has_memory_in(const struct client *c, const struct memory *m, uint32_t lane) {
    return m && memory_in_lane(m) && (c->lane == lane || c->next_lane == lane);
}

/* Maps the client's pages in the lane, or (NULL) unmaps them. Returns whether that is done. */
static bool join_step(struct client *c, struct move *mv, struct memory_lane *lane, int *err) {
    if (memory_joined(c->memory, lane)) return true;
    if (!mv->left) return false;
    *err = memory_join(c->memory, lane, mv->left);
    memory_move_pay(c->worker, mv, memory_part(c->memory));
    return !*err && memory_joined(c->memory, lane);
}

static void look_again(struct client *c) {
    c->displaced =
        c->memory && (memory_spilled(c->memory) || memory_swapped(c->memory) || residency_parks(c));
}

/* ---- out of the lane, and back --------------------------------------------------------------- */

/* An incomplete spill counts as spilled: the client has not run since, so nothing new is resident.
 */
static bool spill_step(struct client *c, struct move *mv) {
    struct worker *w = c->worker;
    uint64_t moved = 0;
    if (!c->memory || (memory_spilled(c->memory) && !memory_spilling(c->memory))) return true;
    int err = memory_spill(c->memory, true, mv->left, &moved);
    stats_add(&c->com.page->stats.switched_bytes, moved);
    pay_bytes(w, mv, moved);
    c->displaced = true;
    if (err) fail_client(c, "the job's ephemeral memory could not be moved to host memory", err);
    return err || !memory_spilling(c->memory);
}

/* Spills all other stranded clients of the lane. */
static bool clear_step(struct worker *w, struct move *mv, uint32_t lane, const struct client *but) {
    struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c == but || c->lane != lane || !c->stranded || client_dead(c)) continue;
        if (!spill_step(c, mv)) return false;
    }
    return true;
}

static bool restore_step(struct client *c, struct move *mv) {
    struct worker *w = c->worker;
    uint64_t moved = 0;
    if (!c->memory || !memory_spilled(c->memory)) return true;
    if (!clear_step(w, mv, c->lane, c)) return false;
    int err = memory_restore(c->memory, mv->left, &moved);
    stats_add(&c->com.page->stats.switched_bytes, moved);
    pay_bytes(w, mv, moved);
    if (err)
        fail_client(c, "the job's ephemeral memory could not be moved back to the device", err);
    return !err && !memory_spilled(c->memory);
}

/* The client leaves its lane first: others continue there, and the lane may shrink to nothing
 * meanwhile. At a boundary its pages there hold nothing, or stranded data, which moves to host
 * memory. */
static bool out_step(struct client *c, struct move *mv) {
    struct worker *w = c->worker;
    uint64_t moved = 0;
    if (!c->memory) return true;
    if (!(c->throttled & CLIENT_OUT)) c->wanted = false;
    c->throttled |= CLIENT_OUT;
    if (c->stranded && !spill_step(c, mv)) return false;
    int err = 0;
    if (join_step(c, mv, NULL, &err) && mv->left) {
        err = memory_swap_out(c->memory, mv->left, &moved);
        memory_move_pay(w, mv, memory_part(c->memory));
    }
    stats_add(&c->com.page->stats.swapped_bytes, moved);
    if (!err && !memory_out(c->memory)) return false;
    stats_add(&c->com.page->stats.swaps, 1);
    if (err) fail_client(c, "the job's persistent memory could not be moved to host memory", err);
    return !err;
}

/* Enters its lane once all of its memory is present. */
static bool in_step(struct client *c, struct move *mv) {
    struct worker *w = c->worker;
    uint64_t moved = 0;
    int err = 0;
    if (!c->memory || (!memory_swapped(c->memory) && !(c->throttled & CLIENT_OUT))) return true;
    if (memory_swapped(c->memory)) {
        err = memory_swap_in(c->memory, mv->left, &moved);
        stats_add(&c->com.page->stats.swapped_bytes, moved);
        memory_move_pay(w, mv, memory_part(c->memory));
        if (!err && memory_swapped(c->memory)) return false;
    }
    bool joined = !err && join_step(c, mv, w->lanes.items[c->lane].chunks, &err);
    if (err)
        fail_client(c, "the job's persistent memory could not be moved back to the device", err);
    if (joined) c->throttled &= (uint8_t)~CLIENT_OUT;
    return joined;
}

static bool return_step(struct client *c, struct move *mv) {
    return in_step(c, mv) && restore_step(c, mv);
}

/* ---- turns and changes of lanes -------------------------------------------------------------- */

/* The client is in both lanes until the move is complete. */
static bool move_step(struct client *c, struct move *mv) {
    struct worker *w = c->worker;
    int err = 0;
    if (!c->memory || c->lane == mv->lane) return true;
    if (c->stranded && !spill_step(c, mv)) return false;
    if (c->next_lane == SCHED_NO_LANE) {
        err = lane_table_open(&w->lanes, mv->lane, w->ops, w->dev);
        if (!err) lane_table_enter(&w->lanes, c->next_lane = mv->lane);
    }
    bool joined = !err && join_step(c, mv, w->lanes.items[mv->lane].chunks, &err);
    if (err) fail_client(c, "the job's lane could not be created", err);
    if (!joined) return false;
    leave_one(c, &c->lane);
    c->lane = mv->lane;
    c->next_lane = SCHED_NO_LANE;
    return true;
}

/* From now on the client's ring is read. */
static bool admit_step(struct client *c, struct move *mv) {
    if (!move_step(c, mv)) return false;
    c->throttled &= (uint8_t)~CLIENT_WAITS;
    credit_admit(&c->credit);
    obtainable_update(c->worker);
    credit_show(&c->credit, c->memory, c->com.page);
    return true;
}

static bool switch_step(struct client *c, struct move *mv) {
    struct lane *l = &c->worker->lanes.items[mv->lane];
    if (!clear_step(c->worker, mv, mv->lane, c) || !restore_step(c, mv)) return false;
    if (c->memory && !client_dead(c)) lane_clear_begin(c);
    if (l->last && l->last != c->job_id) stats_add(&c->com.page->stats.switches, 1);
    l->last = c->job_id;
    return true;
}

/* ---- shrinking lanes and releasing memory ---------------------------------------------------- */

/* A client's pages may lie high in the lane, because lower ones were freed. They are mapped anew,
 * since they hold nothing at a boundary. */
static bool pack_client(struct client *c, struct move *mv) {
    struct memory_lane *lane = c->worker->lanes.items[mv->lane].chunks;
    if (memory_packed(c->memory)) return true;
    if (!mv->left) return false;
    int err = memory_join(c->memory, lane, mv->left);
    memory_move_pay(c->worker, mv, memory_part(c->memory));
    if (err) fail_client(c, "the job's lane could not be compacted", err);
    return err || memory_packed(c->memory);
}

static bool pack_step(struct worker *w, struct move *mv) {
    struct list *pos;
    if (!clear_step(w, mv, mv->lane, NULL)) return false;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->lane != mv->lane || !c->memory || memory_spilled(c->memory)) continue;
        if (memory_in_lane(c->memory) && !pack_client(c, mv)) return false;
    }
    mv->packs = false;
    return true;
}

/* True when the lane has pages of an ending client, which are released anyway. */
static bool is_ending_in(const struct worker *w, uint32_t lane) {
    const struct list *pos;
    list_each(pos, &w->clients.list) {
        const struct client *c = list_entry(pos, struct client, link);
        if (has_memory_in(c, c->ending, lane)) return true;
    }
    return false;
}

static bool shrink_step(struct worker *w, struct move *mv) {
    uint64_t before = lane_table_bytes(&w->lanes, mv->lane);
    if (mv->packs && !pack_step(w, mv)) return false;
    if (before <= mv->bytes) return true;
    struct memory_lane *chunks = w->lanes.items[mv->lane].chunks;
    int err = memory_lane_shrink(chunks, mv->bytes, mv->left);
    if (err == -EBUSY) {
        mv->packs = true;
        if (!pack_step(w, mv)) return false;
        err = memory_lane_shrink(chunks, mv->bytes, mv->left);
    }
    pay_bytes(w, mv, before - memory_lane_bytes(chunks));
    if (!err) return memory_lane_bytes(chunks) <= mv->bytes;
    if (err == -EBUSY && is_ending_in(w, mv->lane)) return false;
    log_warn("lane", "event=not-shrunk lane=%u bytes=%" PRIu64 " target_bytes=%" PRIu64 " error=%s",
             mv->lane, memory_lane_bytes(chunks), mv->bytes, err_name(err));
    return true;
}

/* The last client that leaves frees the lane. */
static bool trim_step(struct client *c, struct move *mv) {
    struct worker *w = c->worker;
    if (c->lane == SCHED_NO_LANE || w->lanes.items[c->lane].clients > 1) return true;
    struct memory_lane *chunks = w->lanes.items[c->lane].chunks;
    uint64_t before = memory_lane_bytes(chunks);
    if (memory_lane_shrink(chunks, 0, mv->left)) return true;
    pay_bytes(w, mv, before - memory_lane_bytes(chunks));
    return memory_lane_bytes(chunks) == 0;
}

static bool end_step(struct client *c, struct move *mv) {
    struct worker *w = c->worker;
    struct memory *m = c->ending;
    memory_move_pay(w, mv, memory_drop(m, mv->left));
    if (mv->left) memory_move_pay(w, mv, memory_segments_drop_ahead(m, mv->left));
    if (!mv->left || !trim_step(c, mv)) return false;
    memory_destroy(m);
    c->ending = NULL;
    leave_lane(c);
    return true;
}

/* ---- moves ----------------------------------------------------------------------------------- */

static bool step(struct worker *w, struct move *mv) {
    struct client *c = mv->client;
    switch (mv->kind) {
    case MOVE_ADMIT: return admit_step(c, mv);
    case MOVE_LANE: return move_step(c, mv);
    case MOVE_IN: return in_step(c, mv);
    case MOVE_OUT: return out_step(c, mv);
    case MOVE_SPILL: return spill_step(c, mv);
    case MOVE_RESTORE: return restore_step(c, mv);
    case MOVE_SWITCH: return switch_step(c, mv);
    case MOVE_RETURN: return return_step(c, mv);
    case MOVE_SHRINK: return shrink_step(w, mv);
    default: return end_step(c, mv);
    }
}

/* Resumes clients that waited for the move. sched_link_clear visits clients whose lane is being
 * cleared, and these. */
static void resume(struct worker *w, struct client *c) {
    look_again(c);
    if (c->moves || client_dead(c)) return;
    if (c->parked && !lane_clear_pending(c)) list_append(&w->work.clearing, &c->clearing);
    if (c->streams.deferred) boundary_ready(&c->boundary, &w->boundaries.passing);
}

/* Resumes the clients of a lane, before and after it shrinks. */
static void resume_lane(struct worker *w, uint32_t lane) {
    struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->lane == lane) resume(w, c);
    }
}

static void finish(struct worker *w, struct move *mv) {
    struct client *c = mv->client;
    uint32_t lane = mv->lane;
    if (mv->parts > 1)
        log_debug("memory", "event=moved job=%u move=%u granules=%u parts=%u most=%u",
                  c ? c->job_id : 0, mv->kind, mv->granules, mv->parts, w->moves.pace.most);
    memory_move_remove(w, mv);
    if (c)
        resume(w, c);
    else
        resume_lane(w, lane);
}

/* Carries out the moves that may proceed. A client whose move fails is dead, and the move keeps its
 * place until the client's end takes it. */
static unsigned go_on(struct worker *w) {
    unsigned count = 0;
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &w->moves.list) {
        struct move *mv = list_entry(pos, struct move, link);
        if (mv->waits || !memory_move_may(w, mv)) continue;
        count++;
        mv->parts++;
        if (!mv->has_share) mv->left = w->moves.left;
        if (step(w, mv))
            finish(w, mv);
        else
            mv->waits = !mv->left;
    }
    return count;
}

unsigned residency_go_on(struct worker *w) {
    memory_move_round(w);
    return memory_move_any(w) ? go_on(w) : 0;
}

/* Without the move a client would wait for ever, so the worker aborts and the broker restarts it.
 */
static struct move *must_add(struct worker *w, enum move_kind kind, struct client *c,
                             uint32_t lane) {
    struct move *mv = memory_move_add(w, kind, c, lane);
    if (mv) return mv;
    log_error("worker", "event=abort why=\"the worker cannot allocate host memory to swap or move "
                        "a job, so it ends and is restarted\"");
    abort();
}

void residency_return(struct client *c) {
    if (!c->memory || client_dead(c)) return;
    if (!c->moves && (memory_swapped(c->memory) || memory_spilled(c->memory))) {
        must_add(c->worker, MOVE_RETURN, c, SCHED_NO_LANE);
        go_on(c->worker);
    }
    look_again(c);
}

bool residency_parks(const struct client *c) {
    return c->moves || lane_clear_pending(c) || memory_move_shrinks(c->worker, c->lane);
}

/* ---- the end of a client --------------------------------------------------------------------- */

void residency_end(struct client *c) {
    if (c->ending || !c->memory) return;
    if (memory_move_end(c->worker, c)) return;
    log_error("worker", "event=abort why=\"the worker is out of memory for the end of a client\"");
    abort();
}

void residency_give(struct client *c) {
    residency_end(c);
    memory_end(c->memory);
    c->ending = c->memory;
    c->memory = NULL;
    go_on(c->worker);
}

void residency_finish(struct client *c) {
    memory_move_forget(c->worker, c);
    memory_destroy(c->ending);
    c->ending = NULL;
    leave_lane(c);
}

/* ---- actions --------------------------------------------------------------------------------- */

static void refuse_client(struct client *c, enum sched_why why) {
    char text[256];
    snprintf(text, sizeof(text),
             WIRE_NOT_ADMITTED "%s (persistent %" PRIu64 " MiB + ephemeral %" PRIu64
                               " MiB, device %" PRIu64 " MiB)",
             reason_why(why), c->credit.reserved_p >> 20, c->credit.reserved_e >> 20,
             c->worker->info.memory_bytes >> 20);
    broker_link_refused(&c->worker->link, c->job_id, text);
    fault_raise(c, ERR_NO_MEMORY, text);
}

static void act_on(struct client *c, const struct sched_action *a) {
    struct worker *w = c->worker;
    switch (a->kind) {
    case SCHED_ADMIT: must_add(w, MOVE_ADMIT, c, a->lane); break;
    case SCHED_REFUSE: refuse_client(c, a->why); break;
    case SCHED_MOVE: must_add(w, MOVE_LANE, c, a->lane); break;
    case SCHED_SWITCH: must_add(w, MOVE_SWITCH, c, a->lane); break;
    case SCHED_SPILL: must_add(w, MOVE_SPILL, c, a->lane); break;
    case SCHED_RESTORE: must_add(w, MOVE_RESTORE, c, a->lane); break;
    case SCHED_SWAP_OUT: must_add(w, MOVE_OUT, c, a->lane); break;
    case SCHED_SWAP_IN: must_add(w, MOVE_IN, c, a->lane); break;
    default: break;
    }
}

static void shrink_lane(struct worker *w, uint32_t lane, uint64_t bytes) {
    if (!memory_move_any(w) && lane_table_bytes(&w->lanes, lane) <= bytes) return;
    must_add(w, MOVE_SHRINK, NULL, lane)->bytes = bytes;
    resume_lane(w, lane);
}

void residency_act(struct worker *w, const struct sched_action *a) {
    struct client *c = a->kind == SCHED_LANE ? NULL : client_find(w, a->job);
    if (a->kind == SCHED_LANE)
        shrink_lane(w, a->lane, a->bytes);
    else if (c && !c->abandoned)
        act_on(c, a); /* otherwise it left in this very step */
    go_on(w);
}
