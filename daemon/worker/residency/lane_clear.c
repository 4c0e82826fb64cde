/* SPDX-License-Identifier: Apache-2.0
 *
 * Clears in steps; operations wait for the end.
 */
#include "daemon/worker/residency/lane_clear.h"

#include <stdio.h>

#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/stats.h"

/* Chunks that a round of the loop clears for one client. They take half a millisecond on the
 * software GPU, and ten times as long if the worker itself never touched them. */
#define LANE_CLEAR_CHUNKS 4u

void lane_clear_count(struct client *c) {
    atom_store_relaxed(&c->com.page->stats.cleared_bytes, memory_cleared(c->memory));
}

bool lane_clear_pending(const struct client *c) {
    return !list_empty(&c->clearing);
}

void lane_clear_begin(struct client *c) {
    memory_enter(c->memory, credit_granted_e(&c->credit));
    if (!memory_unclear(c->memory) || lane_clear_pending(c)) return;
    list_append(&c->worker->work.clearing, &c->clearing);
}

void lane_clear_park(struct client *c, struct op *op) {
    op->next = NULL;
    *c->parked_last = op;
    c->parked_last = &op->next;
}

struct op *lane_clear_end(struct client *c) {
    struct op *parked = c->parked;
    list_remove(&c->clearing);
    c->parked = NULL;
    c->parked_last = &c->parked;
    return parked;
}

static void fail_client(struct client *c, int err) {
    char text[128];
    snprintf(text, sizeof(text), "the lane's memory could not be cleared of another job's data: %s",
             err_text(err));
    fault_raise(c, err, text);
}

bool lane_clear_step(struct client *c) {
    uint64_t before = memory_cleared(c->memory);
    int err = client_dead(c) ? 0 : memory_clear(c->memory, LANE_CLEAR_CHUNKS);
    if (err) fail_client(c, err);
    if (client_dead(c)) return false; /* until it is abandoned */
    struct worker *w = c->worker;
    pace_add(&w->moves.pace,
             (uint32_t)((memory_cleared(c->memory) - before) / w->info.granularity_bytes));
    lane_clear_count(c);
    return !memory_unclear(c->memory);
}
