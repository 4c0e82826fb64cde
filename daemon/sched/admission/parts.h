/* SPDX-License-Identifier: Apache-2.0
 *
 * Users' parts of the memory: where jobs of several users are there, an equal one each. A user may
 * have more as long as nobody else waits for memory within its own part.
 */
#ifndef DAEMON_SCHED_ADMISSION_PARTS_H
#define DAEMON_SCHED_ADMISSION_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

/* Good until a job is admitted or gives memory back. */
struct parts {
    uint64_t part_bytes;     /* 0: there is one user, or parts are of no account */
    uint32_t waits;          /* a job that waits within its user's part; SCHED_NONE */
    bool several_users_wait; /* such jobs */
};

void parts_joined(struct sched *s, uint32_t job);
struct parts parts_of(struct sched *s);
/* The waiting job would bring its user beyond the part while another user's waits within. One that
 * was overtaken often enough yields no more. */
bool parts_yields(const struct sched *s, const struct parts *parts, uint32_t job);

#endif
