/* SPDX-License-Identifier: Apache-2.0
 *
 * The pending and the sent requests, in an array indexed by place; a hash table finds them by the
 * caller's id.
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
    ROSTER_FORGOTTEN, /* sent, and cancelled since; the id may be reused */
};

struct roster_request {
    uint64_t id, arrived_ns, deadline_ns;
    uint64_t order; /* order of arrival */
    uint32_t app;
    uint32_t next_free;
    enum roster_where where;
};

/* Empty if all zeroes. */
struct roster {
    struct roster_request *requests; /* indexed by place */
    struct slotmap ids;
    uint64_t orders;
    uint32_t capacity, used, pending;
    uint32_t first_free; /* ROSTER_NONE if all are used */
};

/* Reserves memory for `count` more requests. Returns 0, or -ENOMEM with nothing changed. */
int roster_reserve(struct roster *r, uint32_t count);
void roster_finish(struct roster *r);

/* Adds a pending request and returns its place. Memory must be reserved, and the id must be new. */
uint32_t roster_add(struct roster *r, uint64_t id, uint32_t app, uint64_t arrived_ns,
                    uint64_t deadline_ns);
uint32_t roster_find(const struct roster *r, uint64_t id);

/* Switches a request between pending and sent. */
void roster_move(struct roster *r, uint32_t place, enum roster_where where);
/* Frees the request's id but not yet its place. */
void roster_forget(struct roster *r, uint32_t place);
void roster_remove(struct roster *r, uint32_t place);

#endif
