/* SPDX-License-Identifier: Apache-2.0
 *
 * Clearing in steps, and what waits for its end.
 */
#include "daemon/worker/memory/clearing.h"

#include <stdio.h>

#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/engine.h"
#include "daemon/worker/fault.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/stats.h"

/* Of all clients, each time round the loop: half a millisecond on the software GPU, and ten times
 * that for chunks which the worker itself never touched. */
#define CLEARING_CHUNKS 4u

uint64_t clearing_owner(const struct client *c) {
    return 1ull + (c->worker->clear_always ? c->job_id : c->uid);
}

void clearing_count(struct client *c) {
    atom_store_relaxed(&c->com->stats.cleared_bytes, memory_cleared(c->memory));
}

bool clearing_pending(const struct client *c) {
    return !list_empty(&c->clearing);
}

void clearing_begin(struct client *c) {
    memory_enter(c->memory, c->credit.granted_e);
    if (!memory_unclear(c->memory) || clearing_pending(c)) return;
    list_append(&c->worker->clearing, &c->clearing);
}

void clearing_park(struct client *c, struct op *op) {
    op->next = NULL;
    *c->parked_last = op;
    c->parked_last = &op->next;
}

/* What was parked goes on, or ends when the client is dead. */
static void clearing_end(struct client *c) {
    struct op *op = c->parked;
    list_remove(&c->clearing);
    c->parked = NULL;
    c->parked_last = &c->parked;
    for (struct op *next; op; op = next) {
        next = op->next;
        engine_run(c->worker, op);
    }
}

void clearing_forget(struct client *c) {
    if (clearing_pending(c)) clearing_end(c);
}

static void clearing_failed(struct client *c, int err) {
    char text[128];
    snprintf(text, sizeof(text), "what another job left in its lane could not be cleared: %s",
             err_text(err));
    fault_raise(c, err, text);
}

unsigned clearing_step(struct worker *w) {
    struct list *pos, *tmp;
    unsigned count = 0;
    list_each_safe(pos, tmp, &w->clearing) {
        struct client *c = list_entry(pos, struct client, clearing);
        int err = client_dead(c) ? 0 : memory_clear(c->memory, CLEARING_CHUNKS);
        count++;
        if (err) clearing_failed(c, err);
        if (client_dead(c)) continue; /* until it is abandoned */
        clearing_count(c);
        if (!memory_unclear(c->memory)) clearing_end(c);
    }
    return count;
}
