/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a run as an SVG image.
 */
#ifndef DAEMON_SIM_REPORT_TIMELINE_SVG_H
#define DAEMON_SIM_REPORT_TIMELINE_SVG_H

#include "daemon/sim/report/timeline.h"

/* Draws one row per job, one bar per span, one colour per lane, and grey from arrival to first
 * running. Returns 0 or -ENOMEM. */
int timeline_svg(const struct timeline *t, const struct workload *w, const struct sim_result *r,
                 const char *title, FILE *out);

#endif
