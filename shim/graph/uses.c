/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores at most one point for each stream: the later point includes the earlier one.
 */
#include "shim/graph/uses.h"

#include <stdlib.h>

#include "shim/connection/submit.h"

struct uses_point {
    uint32_t stream;
    uint64_t seq;
};

static void drop_done(struct uses *u) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < u->count; i++)
        if (!submit_done(u->list[i].stream, u->list[i].seq)) u->list[kept++] = u->list[i];
    u->count = kept;
}

static bool replace(struct uses *u, uint32_t stream, uint64_t seq) {
    for (uint32_t i = 0; i < u->count; i++) {
        if (u->list[i].stream != stream) continue;
        if (seq > u->list[i].seq) u->list[i].seq = seq;
        return true;
    }
    return false;
}

void uses_add(struct uses *u, uint32_t stream, uint64_t seq) {
    drop_done(u);
    if (replace(u, stream, seq)) return;
    struct uses_point *more = realloc(u->list, (u->count + 1) * sizeof(*more));
    if (!more) {
        u->forgotten = true;
        return;
    }
    u->list = more;
    u->list[u->count++] = (struct uses_point){stream, seq};
}

bool uses_before(struct uses *u, uint32_t stream) {
    drop_done(u);
    return !u->forgotten && (u->count == 0 || (u->count == 1 && u->list[0].stream == stream));
}

bool uses_done(struct uses *u) {
    drop_done(u);
    return !u->forgotten && u->count == 0;
}

void uses_finish(struct uses *u) {
    free(u->list);
    *u = (struct uses){0};
}
