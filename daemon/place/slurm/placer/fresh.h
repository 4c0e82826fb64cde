/* SPDX-License-Identifier: Apache-2.0
 *
 * How old nodes' reports are, by our own clock: since when they are what they are. Clocks of two
 * machines are never compared.
 *
 * Owner: the placer. Thread: its one.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_FRESH_H
#define DAEMON_PLACE_SLURM_PLACER_FRESH_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed at first. */
struct fresh {
    struct fresh_node *nodes;
    size_t count, cap;
};

/* How long the node has said the same, in ns; 0 where it says it for the first time, also to a
 * placer that has just started. -ENOMEM. */
int64_t fresh_age_ns(struct fresh *f, const char *node, const char *report, int64_t now_ns);
void fresh_finish(struct fresh *f);

#endif
