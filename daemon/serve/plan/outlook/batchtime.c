/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear regression over sums with exponential decay.
 */
#include "daemon/serve/plan/outlook/batchtime.h"

#define MS 1e6
#define FORGET 0.99 /* decay per batch, so that about a hundred batches count */
#define ENOUGH 8    /* batches before the first fit */
#define SPREAD 1e-3 /* least relative variance of x at which c0 and c1 can be separated */

void batchtime_init(struct batchtime *b, double c0_ns, double c1) {
    *b = (struct batchtime){.c0_ns = c0_ns, .c1 = c1};
}

/* Fits a line through the origin if c0 would be negative, because no batch takes negative time. */
static void fit_slope(struct batchtime *b) {
    b->c0_ns = 0;
    b->c1 = b->xy / b->xx;
}

/* All batches are alike: c1 stays unchanged. */
static void fit_level(struct batchtime *b) {
    double c0 = (b->y - b->c1 * b->x) / b->n;
    if (c0 < 0)
        fit_slope(b);
    else
        b->c0_ns = c0 * MS;
}

static void fit(struct batchtime *b) {
    double spread = b->n * b->xx - b->x * b->x;
    if (spread <= SPREAD * b->x * b->x) {
        fit_level(b);
        return;
    }
    double c1 = (b->n * b->xy - b->x * b->y) / spread, c0 = (b->y - c1 * b->x) / b->n;
    if (c1 <= 0) return; /* longer requests cannot make batches shorter: this is noise */
    if (c0 < 0) {
        fit_slope(b);
        return;
    }
    b->c1 = c1;
    b->c0_ns = c0 * MS;
}

void batchtime_add(struct batchtime *b, uint32_t count, double longest_ns, double ns) {
    double x = count * longest_ns / MS, y = ns / MS;
    b->n = b->n * FORGET + 1;
    b->x = b->x * FORGET + x;
    b->y = b->y * FORGET + y;
    b->xx = b->xx * FORGET + x * x;
    b->xy = b->xy * FORGET + x * y;
    if (b->seen < ENOUGH) b->seen++;
    if (b->seen == ENOUGH && b->x > 0 && b->y > 0) fit(b);
}
