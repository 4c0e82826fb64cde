/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of frameworks, from frameworks.def: what would be set in this environment, and setting
 * it. Reads and writes the process's environment; one thread.
 */
#ifndef DAEMON_CTL_FRAMEWORKS_H
#define DAEMON_CTL_FRAMEWORKS_H

#include <limits.h>
#include <stdbool.h>

#define FRAMEWORKS_MAX 16

/* Which rows count. */
struct frameworks_choice {
    bool allocators; /* those for any device: they choose who has memory that is not in use */
    bool soft;       /* the device is the software GPU */
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

/* Whether the command starts ranks of a distributed PyTorch program, or is one. Their NCCL takes a
 * snapshot of memory, which cudaMallocAsync has not: it ends them. */
bool frameworks_has_ranks(char *const *argv);

/* Sets them. */
void frameworks_apply(const struct frameworks_setting *settings, int count);

#endif
