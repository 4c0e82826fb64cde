/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of requests ordered by a key (arrival or deadline), each with a time at which it leaves:
 * two heaps over places. Used by policies with a single order, and in the queue of each batch size
 * (viable.h).
 *
 * Owner: a policy. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SERVE_PLAN_STATE_LINEUP_H
#define DAEMON_SERVE_PLAN_STATE_LINEUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/minheap.h"

#define LINEUP_NONE UINT32_MAX

/* Empty if all zeroes. */
struct lineup {
    uint64_t *key, *until_ns; /* per place */
    struct minheap order, leave;
    uint32_t capacity;
};

/* Reserves memory for the places below `places`. Returns 0, or -ENOMEM with nothing changed. */
int lineup_reserve(struct lineup *l, uint32_t places);
void lineup_finish(struct lineup *l);

/* The place must be free. The request is late after `until_ns`. */
void lineup_add(struct lineup *l, uint32_t place, uint64_t key, uint64_t until_ns);
/* The place may be free. */
void lineup_remove(struct lineup *l, uint32_t place);

/* Recomputes the leaving time of every request. */
typedef uint64_t lineup_until_fn(void *arg, uint32_t place);
void lineup_retime(struct lineup *l, lineup_until_fn *until_ns, void *arg);

/* Removes the first `count` requests, which must exist, and writes them to `out`. */
void lineup_take(struct lineup *l, uint32_t count, uint32_t *out);

static inline uint32_t lineup_count(const struct lineup *l) {
    return l->order.count;
}

static inline bool lineup_has(const struct lineup *l, uint32_t place) {
    return place < l->capacity && l->order.place[place] != MINHEAP_NONE;
}

/* The request with the smallest key; LINEUP_NONE if there is none. */
static inline uint32_t lineup_first(const struct lineup *l) {
    return l->order.count ? l->order.items[0] : LINEUP_NONE;
}

/* The request that leaves next, and a request whose leaving time is before now; LINEUP_NONE if
 * there is none. */
static inline uint32_t lineup_next(const struct lineup *l) {
    return l->leave.count ? l->leave.items[0] : LINEUP_NONE;
}

static inline uint32_t lineup_late(const struct lineup *l, uint64_t now_ns) {
    uint32_t next = lineup_next(l);
    return next != LINEUP_NONE && l->until_ns[next] < now_ns ? next : LINEUP_NONE;
}

/* When the next request becomes late; UINT64_MAX: never. */
static inline uint64_t lineup_wake(const struct lineup *l) {
    uint32_t next = lineup_next(l);
    return next != LINEUP_NONE && l->until_ns[next] < UINT64_MAX ? l->until_ns[next] + 1
                                                                 : UINT64_MAX;
}

/* NULL, or a violated invariant. */
const char *lineup_check(const struct lineup *l);

#endif
