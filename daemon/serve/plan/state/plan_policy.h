/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy interface: which pending requests form the next batch, and which can be given up. The
 * core (plan_step.c) stores requests and workers and calls these hooks. Hooks that may be NULL say
 * so. A policy has no memory except st->own, and gets the time only from the state.
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
    size_t own_bytes; /* size of st->own, which is zeroed */

    /* Allocates memory that does not depend on requests; may be NULL. Returns 0 or -ENOMEM;
     * `finish` is called in either case. */
    int (*begin)(struct plan_state *st);
    void (*finish)(struct plan_state *st);
    /* Reserves memory for requests at the places below `places`. Returns 0, or -ENOMEM with nothing
     * lost. */
    int (*reserve)(struct plan_state *st, uint32_t places);

    /* Returns false to reject a new request. Called before `add`; NULL accepts all. */
    bool (*accepts)(const struct plan_state *st, uint32_t place);
    /* The request becomes pending, or stops being pending for any reason. */
    void (*add)(struct plan_state *st, uint32_t place);
    void (*remove)(struct plan_state *st, uint32_t place);
    /* Called after the latency estimates were refreshed. May be NULL. */
    void (*learned)(struct plan_state *st);

    /* Returns a request to give up, which the core then removes; STATE_NONE if there is none. */
    uint32_t (*expired)(struct plan_state *st);
    /* Forms the next batch; called when a worker is idle and no request is expired. Fills `places`
     * with requests, which the core then removes. Returns their number: one of the sizes, or 0 for
     * no batch now. */
    uint32_t (*pick)(struct plan_state *st, uint32_t *places);
    /* Called when a worker's batch is complete and took `ns`. May be NULL. */
    void (*done)(struct plan_state *st, const struct crew_worker *w, uint64_t ns);
    /* When a request expires without any event; PLAN_FOREVER: never. */
    uint64_t (*wake)(const struct plan_state *st);

    /* Checks the policy's own invariants; returns NULL, or a violated one. The hook may be NULL. */
    const char *(*check)(const struct plan_state *st);
};

#endif
