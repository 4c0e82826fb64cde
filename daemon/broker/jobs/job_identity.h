/* SPDX-License-Identifier: Apache-2.0
 *
 * A job's identity and needs, from its hello to its record in the history: one description for all
 * parts. `spec` holds the needs that a client, the configuration or a profile stated, and is also
 * what the worker is told.
 */
#ifndef DAEMON_BROKER_JOBS_JOB_IDENTITY_H
#define DAEMON_BROKER_JOBS_JOB_IDENTITY_H

#include <sys/types.h>
#include <time.h>

#include "proto/wire/wire.h"

struct job {
    pid_t pid; /* from SO_PEERCRED; 0 when the client's pid namespace is not visible */
    uid_t uid;
    char name[64];         /* printable */
    struct timespec since; /* CLOCK_REALTIME, for people */
    int gpu;               /* number of the GPU chosen for it; -1: none yet */
    struct wire_job spec;
    char command[WIRE_COMMAND_BYTES]; /* printable; empty: unknown */
    const char *source; /* source of the memory needs: given, profile, assumed; "": unknown */
};

#endif
