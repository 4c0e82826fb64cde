/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of frameworks, from frameworks.def: plans what to set in this environment, and sets it.
 * Reads and writes the process's environment; one thread.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_FRAMEWORKS_H
#define DAEMON_CTL_ENVIRONMENT_FRAMEWORKS_H

#include <limits.h>
#include <stdbool.h>

#define FRAMEWORKS_MAX 16

/* The conditions that select rows of the table. */
struct frameworks_choice {
    bool async; /* the user chose allocators that return memory (--allocator async) */
    bool soft;  /* the device is the software GPU */
};

/* A variable as it will be set. `value` has its placeholders resolved, and its flags appended to
 * those that exist. Other texts are static. */
struct frameworks_setting {
    const char *framework, *variable, *why;
    char value[2 * PATH_MAX];
};

/* Writes the settings that the user has not made into `out` and returns their number. Omits those
 * that need a program that is not installed. */
int frameworks_plan(const struct frameworks_choice *choice, struct frameworks_setting *out);

/* Applies the settings. */
void frameworks_apply(const struct frameworks_setting *settings, int count);

#endif
