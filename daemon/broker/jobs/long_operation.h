/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation of a job that has been on the device for long, from the worker's page.
 */
#ifndef DAEMON_BROKER_JOBS_LONG_OPERATION_H
#define DAEMON_BROKER_JOBS_LONG_OPERATION_H

#include "proto/wire/wire.h"

/* A consistent copy of a job's wire_running. */
struct long_operation_view {
    uint64_t age_ns;  /* 0: none has been on the device for long */
    uint64_t busy_ns; /* device time of the job, including the running operation */
    uint64_t since_ns, launch;
    char what[144]; /* "kernel <name>", "copy", "memset"; printable */
};

/* Reads the page; `c` may be NULL. If no consistent copy can be made, nothing runs. */
void long_operation_view(const struct wire_completion *c, struct long_operation_view *out);

#endif
