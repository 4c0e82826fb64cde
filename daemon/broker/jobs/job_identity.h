/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a job is and what it needs, from its hello to its record in the history: one description in
 * every room. What a client, the configuration or a profile said of its needs is in `spec`, which
 * is as well what the worker is told.
 */
#ifndef DAEMON_BROKER_JOBS_JOB_IDENTITY_H
#define DAEMON_BROKER_JOBS_JOB_IDENTITY_H

#include <sys/types.h>
#include <time.h>

#include "proto/wire/wire.h"

struct job {
    pid_t pid; /* SO_PEERCRED's; 0 when the client lives in a pid namespace we cannot see */
    uid_t uid;
    char name[64];         /* printable */
    struct timespec since; /* CLOCK_REALTIME, for people */
    int gpu;               /* that it is on, or was meant for; -1: none was chosen yet */
    struct wire_job spec;
    char command[WIRE_COMMAND_BYTES]; /* fit to be shown; empty: not known */
    const char *source; /* of the memory in it: given, profile, assumed; "": not known */
};

#endif
