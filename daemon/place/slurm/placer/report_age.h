/* SPDX-License-Identifier: Apache-2.0
 *
 * Age of the nodes' reports: how long a report is unchanged, by our own clock. Clocks of two
 * machines are never compared.
 *
 * Owner: the placer. Thread: its only one.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_REPORT_AGE_H
#define DAEMON_PLACE_SLURM_PLACER_REPORT_AGE_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised. */
struct report_age {
    struct report_age_node *nodes;
    size_t count, cap;
};

/* Returns for how many ns the report under this name (a node's, or another key) is unchanged; 0 for
 * a new text, and for the first one since the placer started. -ENOMEM on failure. */
int64_t report_age_ns(struct report_age *f, const char *node, const char *report, int64_t now_ns);
void report_age_finish(struct report_age *f);

#endif
