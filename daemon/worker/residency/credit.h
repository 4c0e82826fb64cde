/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory that is reserved for a client, and the most that it used: P, used across
 * iterations, and E, the peak within one. P is its private chunks (its persistent window, and the
 * pages of survivors), the segments that it holds and its modules. E is its pages of the lane.
 * Memory in use is counted in `struct memory` alone, except for modules, which are no pages. The
 * scheduler decides the reservation; this is the worker's only copy, so that the client's memory
 * can come and go without asking.
 *
 * The client's page has its credit as whole granules of each window, so that the client need not
 * ask either.
 *
 * Owner: the client. Thread: the worker's. All sizes are in bytes.
 */
#ifndef DAEMON_WORKER_RESIDENCY_CREDIT_H
#define DAEMON_WORKER_RESIDENCY_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct memory;

struct credit {
    uint64_t granule;
    uint64_t reserved_p, reserved_e; /* requested; granted from its admission on */
    bool granted;
    bool known;              /* the needs are known: stated, or measured */
    uint64_t modules;        /* device memory of its modules */
    uint64_t peak_p, peak_e; /* since the current iteration began */
    uint64_t last_p, last_e; /* the previous iteration's peaks */
    bool bounded;            /* the latest refusal was by its user's limit */
    uint64_t most_p, most_e; /* the most that could be granted (obtainable.h); both 0: unknown */
};

uint64_t credit_p(const struct credit *k, const struct memory *m);
uint64_t credit_e(const struct memory *m);

/* Both are 0 until the client is admitted. */
static inline uint64_t credit_granted_p(const struct credit *k) {
    return k->granted ? k->reserved_p : 0;
}
static inline uint64_t credit_granted_e(const struct credit *k) {
    return k->granted ? k->reserved_e : 0;
}

/* Sets the grant, in whole granules. */
void credit_grant(struct credit *k, uint64_t p, uint64_t e);
/* The client is admitted with what it requested. */
void credit_admit(struct credit *k);
/* Raises P and E to the grant that they need. True: that exceeds the present grant. */
bool credit_lacks(const struct credit *k, uint64_t *p, uint64_t *e);

/* Follows a change of the memory in use: updates the peaks and the client's page. */
void credit_used(struct credit *k, const struct memory *m, struct wire_completion *page);
/* Publishes a change of the granted or obtainable memory on the client's page. */
void credit_show(const struct credit *k, const struct memory *m, struct wire_completion *page);

/* An iteration is complete: its peaks become those of the previous iteration. */
void credit_iteration(struct credit *k, const struct memory *m);
/* Grants the peaks of the last two iterations from now on: the client's needs are known. */
void credit_measure(struct credit *k);

#endif
