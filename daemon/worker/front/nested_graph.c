/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses bodies and reads their records.
 */
#include "daemon/worker/front/nested_graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/front/exec.h"
#include "daemon/worker/operations/progress.h"
#include "daemon/worker/stream/conditional.h"
#include "proto/wire/record.h"

#define NESTED_GRAPH_SHARE \
    64 /* bodies and records per client and sweep, give or take one body's records */

/* ---- conditional nodes ----------------------------------------------------------------------- */

/* Chooses by the value that kernels have set. Where none ran, as in a null job, the value would
 * never change: such a loop has one turn. */
static struct graph *choose_body(const struct client *c, const struct graph_choice *node,
                                 const struct choice *now) {
    const _Atomic uint32_t *word = client_host(c, node->value, sizeof(uint32_t));
    if (now->turns && (c->null || !now->body.worked)) return NULL;
    return graph_body(node, atom_load_acquire(word), now->turns);
}

/* False: there is no further body, and the operations behind the node continue. */
static bool next_body(struct client *c, struct choice *choice) {
    struct stream *s = choice->body.parent;
    const struct op *op = stream_at(s, s->cursor);
    struct graph *body = choose_body(c, &op->choice, choice);
    if (body && conditional_enter(choice, body) == 0) return true;
    if (body)
        fault_raise(c, -ENOMEM, "out of memory for a conditional node");
    else
        progress_end_aside(c, s);
    return false;
}

/* ---- launches by kernels --------------------------------------------------------------------- */

static void check_launched(struct client *c, int err) {
    if (err) fault_raise(c, err, "out of memory for a graph that a kernel launched");
}

/* Completes the operations whose launched graphs are all complete. */
static unsigned end_settled(struct client *c) {
    unsigned count = 0;
    for (struct stream *s; !client_dead(c) && (s = device_launch_settled(&c->launching)); count++)
        progress_end_aside(c, s);
    return count;
}

/* ---- launches changed by kernels ------------------------------------------------------------- */

/* Kernels write the node where the client writes too, so it may have any content. It is copied once
 * and checked as if it had been sent. */
static int renew_launch(const struct client *c, const struct graph_choice *node, void *record,
                        uint32_t bytes, char *why, size_t why_bytes) {
    struct wire_launch *l = record;
    const struct wire_node *now = client_host(c, node->value, sizeof(*now) + l->param_bytes);
    if (!now) {
        snprintf(why, why_bytes, "the kernel node at 0x%" PRIx64 " is outside the host window",
                 node->value);
        return ERR_PROTOCOL;
    }
    for (int i = 0; i < 3; i++)
        l->grid[i] = atom_load_relaxed((const _Atomic uint32_t *)&now->grid[i]);
    memcpy(l + 1, now->params, l->param_bytes);
    return record_check(l, bytes, why, why_bytes);
}

/* Updates a launch record from its node, if kernels may have changed the node. */
static int renew(const struct client *c, struct body *b, void *record, uint32_t bytes, char *why,
                 size_t why_bytes) {
    const struct wire_record *r = record;
    if (b->launched || r->op != WIRE_LAUNCH) return 0;
    const struct op *node = stream_at(b->parent, b->parent->cursor);
    if (node->choice.kind != WIRE_CHOICE_LAUNCH) return 0;
    return renew_launch(c, &node->choice, record, bytes, why, why_bytes);
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static unsigned read_body(struct worker *w, struct client *c, struct body *b) {
    unsigned count = 0;
    char why[256];
    while (body_reads(b) && !client_dead(c)) {
        struct graph *graph = b->next.graph;
        uint32_t bytes = graph_read(&b->next, w->record);
        count++;
        if (renew(c, b, w->record, bytes, why, sizeof(why)))
            fault_raise(c, ERR_LAUNCH_FAILED, why);
        else if (exec_inner(c, b, w->record, graph, why, sizeof(why)))
            fault_expel(c, why);
    }
    return count;
}

static unsigned go_on(struct worker *w, struct client *c, struct body *b) {
    if (!body_over(b)) return read_body(w, c, b);
    if (b->launched) {
        check_launched(c, device_launch_ended(&c->launching, b->launched));
        return end_settled(c);
    }
    return next_body(c, conditional_of(b)) ? read_body(w, c, b) : 0;
}

unsigned nested_graph_sweep(struct worker *w, struct client *c) {
    unsigned count = 0;
    if (device_launch_ready(&c->launching)) {
        check_launched(c, device_launch_sweep(&c->launching));
        count += 1 + end_settled(c);
    }
    while (count < NESTED_GRAPH_SHARE && !client_dead(c)) {
        struct body *b = body_take(&c->streams);
        if (!b) break;
        count += 1 + go_on(w, c, b);
    }
    return count;
}
