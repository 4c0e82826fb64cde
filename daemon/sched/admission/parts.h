/* SPDX-License-Identifier: Apache-2.0
 *
 * Divides the memory equally among users when several have jobs. A user may have more as long as no
 * other user's job waits for memory within its own part.
 */
#ifndef DAEMON_SCHED_ADMISSION_PARTS_H
#define DAEMON_SCHED_ADMISSION_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

/* Valid until a job is admitted or frees memory. */
struct parts {
    uint64_t part_bytes;     /* bytes of each user's part; 0: unlimited */
    uint32_t waits;          /* a job that waits within its user's part, or SCHED_NONE */
    bool several_users_wait; /* such jobs of several users wait */
};

/* The job has joined: notes whether jobs of several users have. */
void parts_joined(struct sched *s, uint32_t job);
/* Computes the parts, and the leader and the memory of each user. */
struct parts parts_of(struct sched *s);
/* The waiting job would exceed its user's part while another user's job waits within its own. A job
 * that was overtaken `overtakes` times no longer yields. */
bool parts_yields(const struct sched *s, const struct parts *parts, uint32_t job);

#endif
