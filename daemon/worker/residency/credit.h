/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of the device's memory is reserved for a client, and what it used at most: P, kept over
 * iterations, and E, the peak within one. P is its private chunks (its persistent window, and the
 * pages of survivors), what it holds of segments and its modules; E is its pages of the lane. What
 * it uses now is counted in its struct memory alone; but for modules, which are no pages. What is
 * reserved is the scheduler's word, kept here because the client's memory comes and goes without
 * asking it; nobody else of the worker keeps it.
 *
 * The client is shown its credit as whole granules of each window, so that it need not ask either.
 *
 * Owner: the client. Thread: the worker's. All of it in bytes.
 */
#ifndef DAEMON_WORKER_RESIDENCY_CREDIT_H
#define DAEMON_WORKER_RESIDENCY_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct memory;

struct credit {
    uint64_t granule;
    uint64_t reserved_p, reserved_e; /* what it asked for; granted from its admission on */
    bool granted;
    bool known;              /* what it needs: it said so, or was measured */
    uint64_t modules;        /* device memory of its modules */
    uint64_t peak_p, peak_e; /* since the current iteration began */
    uint64_t last_p, last_e; /* of the one before */
    bool bounded;            /* the latest no was its user's limit */
    uint64_t most_p, most_e; /* that it could be granted (obtainable.h); both 0: not known */
};

uint64_t credit_p(const struct credit *k, const struct memory *m);
uint64_t credit_e(const struct memory *m);

/* 0 until it is admitted. */
static inline uint64_t credit_granted_p(const struct credit *k) {
    return k->granted ? k->reserved_p : 0;
}
static inline uint64_t credit_granted_e(const struct credit *k) {
    return k->granted ? k->reserved_e : 0;
}

/* Whole granules. */
void credit_grant(struct credit *k, uint64_t p, uint64_t e);
/* It is admitted with what it asked for. */
void credit_admit(struct credit *k);
/* Makes P and E what would have to be granted for them. True: that is more than was. */
bool credit_lacks(const struct credit *k, uint64_t *p, uint64_t *e);

/* Follows a change of the memory in use: peaks, and what the client sees of it. */
void credit_used(struct credit *k, const struct memory *m, struct wire_completion *page);
/* Shows the client a change of the memory that is granted, or that could be. */
void credit_show(const struct credit *k, const struct memory *m, struct wire_completion *page);

/* An iteration is complete: its peaks count from now on. */
void credit_iteration(struct credit *k, const struct memory *m);
/* The peaks of the last two are what is granted from now on: what it needs is known. */
void credit_measure(struct credit *k);

#endif
