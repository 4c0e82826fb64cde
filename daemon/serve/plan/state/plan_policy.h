/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy seam: which pending requests go into the next batch, and which can be given up. The
 * core (plan_step.c) keeps requests and workers and calls the hooks; whoever may be NULL is said. A
 * policy has no memory but st->own, and never learns the time but from the state.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SERVE_PLAN_STATE_PLAN_POLICY_H
#define DAEMON_SERVE_PLAN_STATE_PLAN_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/serve/plan/state/plan_state.h"

struct plan_policy {
    const char *name;
    size_t own_bytes; /* of st->own, zeroed */

    /* What it needs whatever comes; NULL: nothing. 0 or -ENOMEM; `finish` is called after either.
     */
    int (*begin)(struct plan_state *st);
    void (*finish)(struct plan_state *st);
    /* Room for requests at the places below `places`: 0, or -ENOMEM with nothing lost. */
    int (*reserve)(struct plan_state *st, uint32_t places);

    /* False: it is refused. Asked before `add`, of new requests only; NULL: none is. */
    bool (*accepts)(const struct plan_state *st, uint32_t place);
    /* It is pending, or not any more, for whatever reason. */
    void (*add)(struct plan_state *st, uint32_t place);
    void (*remove)(struct plan_state *st, uint32_t place);
    /* The outlook is another one. NULL: no matter. */
    void (*learned)(struct plan_state *st);

    /* A request that is to be given up; it will be removed. STATE_NONE. */
    uint32_t (*expired)(struct plan_state *st);
    /* The next batch, when a worker is idle and nobody is expired: fills `places` with requests,
     * which will be removed. How many: one of the sizes, or 0: none now. */
    uint32_t (*pick)(struct plan_state *st, uint32_t *places);
    /* A worker's batch is complete and took `ns`; NULL: no matter. */
    void (*done)(struct plan_state *st, const struct crew_worker *w, uint64_t ns);
    /* When somebody will be expired although nothing happens; PLAN_FOREVER: nobody. */
    uint64_t (*wake)(const struct plan_state *st);

    /* The policy's own invariants: NULL, or which one does not hold. NULL: it has none. */
    const char *(*check)(const struct plan_state *st);
};

#endif
