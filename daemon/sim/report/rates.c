/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts one window at a time, because iterations end in order of time.
 */
#include "daemon/sim/report/rates.h"

#include <errno.h>
#include <stdlib.h>

int rates_init(struct rates *r, const struct workload *w, uint64_t window_ns, FILE *out) {
    *r = (struct rates){.w = w, .out = out, .window_ns = window_ns};
    r->counts = calloc(w->count, sizeof(*r->counts));
    if (!r->counts) return -ENOMEM;
    fputs("window_start_s,job,iterations\n", out);
    return 0;
}

static void flush(struct rates *r) {
    double start = (double)r->index * (double)r->window_ns / 1e9;
    for (uint32_t i = 0; i < r->w->count; i++) {
        if (r->counts[i])
            fprintf(r->out, "%.6f,%s.%u,%u\n", start, r->w->jobs[i].name, i + 1, r->counts[i]);
        r->counts[i] = 0;
    }
}

void rates_finish(struct rates *r) {
    if (r->counts) flush(r);
    free(r->counts);
    *r = (struct rates){0};
}

void rates_ran(void *rates, uint32_t job, uint32_t lane, uint64_t start_ns, uint64_t end_ns) {
    struct rates *r = rates;
    /* An iteration that ends exactly with a window belongs to it. */
    uint64_t index = (end_ns - 1) / r->window_ns;
    if (index != r->index) flush(r);
    r->index = index;
    r->counts[job]++;
}
