/* SPDX-License-Identifier: Apache-2.0
 *
 * One picture of `salusctl top`: two views of the daemon, and the rates between them. Pure.
 */
#ifndef DAEMON_CTL_VERBS_TOP_DRAW_H
#define DAEMON_CTL_VERBS_TOP_DRAW_H

#include "daemon/ctl/cli/query.h"

struct top_view {
    uint64_t at_ns;
    struct query jobs, lanes, gpus;
};

/* Rates of a job between two views. Negative: unknown. */
struct top_rate {
    double share;      /* part of the device time that all jobs of its GPU received */
    double entitled;   /* part due by weight among the GPU's jobs that used or awaited the device */
    double iterations; /* per second */
    double busy;       /* part of the elapsed time in which the device worked for the job */
};

/* Computes the rates. `before` is NULL at the first view. */
void top_rate(const struct top_view *before, const struct top_view *now, const struct ctl_job *j,
              struct top_rate *out);

/* Draws lines of at most `width` columns. */
void top_draw(FILE *out, int width, const struct top_view *before, const struct top_view *now);

#endif
