/* SPDX-License-Identifier: Apache-2.0
 *
 * Regression by sums that forget.
 */
#include "daemon/serve/plan/outlook/batchtime.h"

#define MS 1e6
#define FORGET 0.99 /* what a batch is worth after the next one: some hundred count */
#define ENOUGH 8    /* batches before anything is concluded */
#define SPREAD 1e-3 /* variance of x, of its mean's square, that tells c0 and c1 apart */

void batchtime_init(struct batchtime *b, double c0_ns, double c1) {
    *b = (struct batchtime){.c0_ns = c0_ns, .c1 = c1};
}

/* The line through the origin, when c0 would be negative: no batch takes less than nothing. */
static void fit_slope(struct batchtime *b) {
    b->c0_ns = 0;
    b->c1 = b->xy / b->xx;
}

/* All batches are alike: c1 stays what it was. */
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
    if (c1 <= 0) return; /* longer requests make no shorter batches: noise */
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
