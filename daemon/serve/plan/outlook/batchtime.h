/* SPDX-License-Identifier: Apache-2.0
 *
 * Duration of a batch: l_B = c0 + c1 k l, where l is the time of its longest request alone (thesis,
 * (4.3), (4.4)). c0 and c1 depend on the model and the GPU. Linear regression over the observed
 * batches finds them; older batches count less, and assumed values hold at first.
 *
 * Owner: the holder. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_BATCHTIME_H
#define DAEMON_SERVE_PLAN_OUTLOOK_BATCHTIME_H

#include <stdint.h>

struct batchtime {
    double c0_ns, c1;
    /* Weighted sums over batches of x = k l and y = l_B, both in ms. */
    double n, x, y, xx, xy;
    uint32_t seen; /* number of batches, up to ENOUGH */
};

/* c0_ns >= 0, c1 > 0. */
void batchtime_init(struct batchtime *b, double c0_ns, double c1);

/* Adds a batch of `count` requests that took `ns`; its longest request alone takes `longest_ns`. */
void batchtime_add(struct batchtime *b, uint32_t count, double longest_ns, double ns);

static inline double batchtime_of(const struct batchtime *b, uint32_t count, double longest_ns) {
    return b->c0_ns + b->c1 * count * longest_ns;
}

#endif
