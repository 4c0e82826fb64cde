/* SPDX-License-Identifier: Apache-2.0
 *
 * Choosing.
 */
#include "daemon/worker/front/choosing.h"

#include <errno.h>

#include "common/atomics.h"
#include "daemon/worker/engine/fault.h"
#include "daemon/worker/engine/progress.h"
#include "daemon/worker/front/exec.h"
#include "daemon/worker/stream/choice.h"

#define CHOOSING_SHARE 64 /* bodies and records, a client and sweep, within one body's records */

/* What kernels have set. Where none ran, as in a null job, the word would be the same for ever:
 * such a loop has one turn. */
static struct graph *choose_body(const struct client *c, const struct graph_choice *node,
                                 const struct choice *now) {
    const _Atomic uint32_t *word = client_host(c, node->value, sizeof(uint32_t));
    if (now->turns && (c->null || !now->worked)) return NULL;
    return graph_body(node, atom_load_acquire(word), now->turns);
}

/* False: there is none any more, and what follows the node goes on. */
static bool next_body(struct client *c, struct stream *s) {
    const struct op *op = stream_at(s, s->cursor);
    struct graph *body = choose_body(c, &op->choice, s->choice);
    if (body && choice_enter(s, body) == 0) return true;
    if (body)
        fault_raise(c, -ENOMEM, "out of memory for a conditional node");
    else
        progress_end_choice(c, s);
    return false;
}

static unsigned read_body(struct worker *w, struct client *c, struct stream *s) {
    struct choice *choice = s->choice;
    unsigned count = 0;
    char why[256];
    while (choice_reads(choice) && !client_dead(c)) {
        struct graph *graph = choice->next.graph;
        graph_read(&choice->next, w->record);
        count++;
        if (exec_inner(c, choice, w->record, graph, why, sizeof(why))) fault_expel(c, why);
    }
    return count;
}

unsigned choosing_sweep(struct worker *w, struct client *c) {
    unsigned count = 0;
    while (count < CHOOSING_SHARE && !client_dead(c)) {
        struct stream *s = choice_take(&c->streams);
        if (!s) break;
        count++;
        if (!choice_over(s->choice) || next_body(c, s)) count += read_body(w, c, s);
    }
    return count;
}
