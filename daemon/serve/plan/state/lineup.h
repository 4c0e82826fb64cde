/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests in a line, by a key (arrival, deadline), of which each leaves at its time: two heaps
 * over places. What the policies that have no other order serve from, and what is under a queue of
 * a batch size (viable.h).
 *
 * Owner: a policy. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SERVE_PLAN_STATE_LINEUP_H
#define DAEMON_SERVE_PLAN_STATE_LINEUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/minheap.h"

#define LINEUP_NONE UINT32_MAX

/* One of zeroes is empty. */
struct lineup {
    uint64_t *key, *until_ns; /* by place */
    struct minheap order, leave;
    uint32_t capacity;
};

/* Room for the places below `places`: 0, or -ENOMEM with nothing changed. */
int lineup_reserve(struct lineup *l, uint32_t places);
void lineup_finish(struct lineup *l);

/* The place must be free. It is late after `until_ns`. */
void lineup_add(struct lineup *l, uint32_t place, uint64_t key, uint64_t until_ns);
/* It may be free. */
void lineup_remove(struct lineup *l, uint32_t place);

/* Everybody's time is another one. */
typedef uint64_t lineup_until_fn(void *arg, uint32_t place);
void lineup_retime(struct lineup *l, lineup_until_fn *until_ns, void *arg);

/* The first `count` leave, into `out`; there must be as many. */
void lineup_take(struct lineup *l, uint32_t count, uint32_t *out);

static inline uint32_t lineup_count(const struct lineup *l) {
    return l->order.count;
}

static inline bool lineup_has(const struct lineup *l, uint32_t place) {
    return place < l->capacity && l->order.place[place] != MINHEAP_NONE;
}

/* The smallest key; LINEUP_NONE. */
static inline uint32_t lineup_first(const struct lineup *l) {
    return l->order.count ? l->order.items[0] : LINEUP_NONE;
}

/* Whose time is the first, and one whose time was before now; LINEUP_NONE. */
static inline uint32_t lineup_next(const struct lineup *l) {
    return l->leave.count ? l->leave.items[0] : LINEUP_NONE;
}

static inline uint32_t lineup_late(const struct lineup *l, uint64_t now_ns) {
    uint32_t next = lineup_next(l);
    return next != LINEUP_NONE && l->until_ns[next] < now_ns ? next : LINEUP_NONE;
}

/* When somebody will be late; UINT64_MAX: never. */
static inline uint64_t lineup_wake(const struct lineup *l) {
    uint32_t next = lineup_next(l);
    return next != LINEUP_NONE && l->until_ns[next] < UINT64_MAX ? l->until_ns[next] + 1
                                                                 : UINT64_MAX;
}

/* NULL, or what does not hold. */
const char *lineup_check(const struct lineup *l);

#endif
