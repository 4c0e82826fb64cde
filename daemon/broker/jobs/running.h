/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a job has been on the device for long, from the page that the worker writes.
 */
#ifndef DAEMON_BROKER_JOBS_RUNNING_H
#define DAEMON_BROKER_JOBS_RUNNING_H

#include "proto/wire/wire.h"

/* A consistent look at a job's wire_running. */
struct running_view {
    uint64_t age_ns;  /* 0: nothing was on the device for long */
    uint64_t busy_ns; /* all that the job took, with what runs now */
    uint64_t since_ns, launch;
    char what[144]; /* "kernel <name>", "copy", "memset"; printable */
};

/* `c` may be NULL. Where it cannot be read in one piece, nothing runs. */
void running_view(const struct wire_completion *c, struct running_view *out);

#endif
