/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader's side of a sequence lock, as in board.c.
 */
#include "daemon/broker/jobs/long_operation.h"

#include <string.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/broker/printable.h"

#define TRIES 100 /* as for a board */

/* Makes one attempt. Returns false while the page is being written. */
static bool read_once(const struct wire_completion *c, struct wire_running *r, uint64_t *busy) {
    uint64_t before = atom_load_acquire(&c->running.seq);

    if (before & 1) return false;
    memcpy((char *)r + sizeof(r->seq), (const char *)&c->running + sizeof(r->seq),
           sizeof(*r) - sizeof(r->seq));
    *busy = atom_load_relaxed(&c->stats.busy_ns);
    atom_fence(); /* the copy is complete before the sequence is checked again */
    return atom_load_acquire(&c->running.seq) == before;
}

void long_operation_view(const struct wire_completion *c, struct long_operation_view *out) {
    struct wire_running r = {0};
    uint64_t now = fdutil_now_ns();
    bool whole = false;

    *out = (struct long_operation_view){0};
    if (!c) return;
    for (int i = 0; i < TRIES && !whole; i++) {
        whole = read_once(c, &r, &out->busy_ns);
        if (!whole) atom_pause();
    }
    if (!whole) out->busy_ns = atom_load_relaxed(&c->stats.busy_ns);
    if (!whole || r.since_ns == 0 || r.since_ns >= now) return;
    out->busy_ns += r.busy_ns;
    out->age_ns = now - r.since_ns;
    out->since_ns = r.since_ns;
    out->launch = r.launch;
    printable_copy(out->what, r.what, sizeof(r.what));
}
