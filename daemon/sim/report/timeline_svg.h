/* SPDX-License-Identifier: Apache-2.0
 *
 * A run as a picture.
 */
#ifndef DAEMON_SIM_REPORT_TIMELINE_SVG_H
#define DAEMON_SIM_REPORT_TIMELINE_SVG_H

#include "daemon/sim/report/timeline.h"

/* A picture: a row a job, a bar a span, a colour a lane, grey from arrival to first running.
 * 0 or -ENOMEM. */
int timeline_svg(const struct timeline *t, const struct workload *w, const struct sim_result *r,
                 const char *title, FILE *out);

#endif
