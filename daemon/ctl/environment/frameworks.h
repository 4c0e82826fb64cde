/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of frameworks, from frameworks.def: what would be set in this environment, and setting
 * it. Reads and writes the process's environment; one thread.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_FRAMEWORKS_H
#define DAEMON_CTL_ENVIRONMENT_FRAMEWORKS_H

#include <limits.h>
#include <stdbool.h>

#define FRAMEWORKS_MAX 16

/* The rows that apply. */
struct frameworks_choice {
    bool async; /* the user asked for allocators that give memory back (--allocator async) */
    bool soft;  /* the device is the software GPU */
};

/* A variable as it will be; `value` with its places filled in, and flags behind those that are
 * there already. Other texts are static. */
struct frameworks_setting {
    const char *framework, *variable, *why;
    char value[2 * PATH_MAX];
};

/* Those that the user has not set, into `out`: how many. What needs a program that is not installed
 * is left out. */
int frameworks_plan(const struct frameworks_choice *choice, struct frameworks_setting *out);

/* Sets them. */
void frameworks_apply(const struct frameworks_setting *settings, int count);

#endif
