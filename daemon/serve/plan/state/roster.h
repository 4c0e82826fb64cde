/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests that are pending or sent, in an array by place, found by the caller's id.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SERVE_PLAN_STATE_ROSTER_H
#define DAEMON_SERVE_PLAN_STATE_ROSTER_H

#include <stdint.h>

#include "common/slotmap.h"

#define ROSTER_NONE UINT32_MAX

enum roster_where {
    ROSTER_FREE,
    ROSTER_PENDING,
    ROSTER_SENT,
    ROSTER_FORGOTTEN, /* sent, and cancelled since: its id is free again */
};

struct roster_request {
    uint64_t id, arrived_ns, deadline_ns;
    uint64_t order; /* of arrival */
    uint32_t app;
    uint32_t next_free;
    enum roster_where where;
};

/* One of zeroes is empty. */
struct roster {
    struct roster_request *requests; /* by place */
    struct slotmap ids;
    uint64_t orders;
    uint32_t capacity, used, pending;
    uint32_t first_free; /* ROSTER_NONE where all is used */
};

/* Room for `count` more: 0, or -ENOMEM with nothing changed. */
int roster_reserve(struct roster *r, uint32_t count);
void roster_finish(struct roster *r);

/* Pending; room must be reserved, the id must be new. Returns its place. */
uint32_t roster_add(struct roster *r, uint64_t id, uint32_t app, uint64_t arrived_ns,
                    uint64_t deadline_ns);
uint32_t roster_find(const struct roster *r, uint64_t id);

/* Between pending and sent. */
void roster_move(struct roster *r, uint32_t place, enum roster_where where);
/* Its id is free, its place is not yet. */
void roster_forget(struct roster *r, uint32_t place);
void roster_remove(struct roster *r, uint32_t place);

#endif
