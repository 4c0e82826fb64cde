/* SPDX-License-Identifier: Apache-2.0
 *
 * One picture of `salusctl top`: two looks at the daemon, and what lies between them. Pure.
 */
#ifndef DAEMON_CTL_VERBS_TOP_DRAW_H
#define DAEMON_CTL_VERBS_TOP_DRAW_H

#include "daemon/ctl/cli/query.h"

struct top_view {
    uint64_t at_ns;
    struct query jobs, lanes, gpus;
};

/* Rates of a job between two looks. Negative: not known. */
struct top_rate {
    double share;      /* of the device time that the jobs of its GPU got */
    double entitled;   /* its part by weight among those of them that used or waited for it */
    double iterations; /* a second */
    double busy;       /* part of the time in which the device worked for it */
};

/* `before` may be NULL: at the first look. */
void top_rate(const struct top_view *before, const struct top_view *now, const struct ctl_job *j,
              struct top_rate *out);

/* Lines of at most `width` columns. */
void top_draw(FILE *out, int width, const struct top_view *before, const struct top_view *now);

#endif
