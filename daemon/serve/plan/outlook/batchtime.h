/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a batch takes: l_B = c0 + c1 k l, where l is the time of its longest request alone
 * (thesis, (4.3), (4.4)). c0 and c1 belong to a model and a GPU; they are found by linear
 * regression over the batches that were seen, older ones counting for less, from what is assumed at
 * first.
 *
 * Owner: who holds it. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_BATCHTIME_H
#define DAEMON_SERVE_PLAN_OUTLOOK_BATCHTIME_H

#include <stdint.h>

struct batchtime {
    double c0_ns, c1;
    /* Weighted sums over batches of x = k l and y = l_B, both in ms. */
    double n, x, y, xx, xy;
    uint32_t seen; /* batches, up to what is enough */
};

/* Neither is negative, c1 > 0. */
void batchtime_init(struct batchtime *b, double c0_ns, double c1);

/* A batch of `count` requests, of which the longest takes `longest_ns` alone, took `ns`. */
void batchtime_add(struct batchtime *b, uint32_t count, double longest_ns, double ns);

static inline double batchtime_of(const struct batchtime *b, uint32_t count, double longest_ns) {
    return b->c0_ns + b->c1 * count * longest_ns;
}

#endif
