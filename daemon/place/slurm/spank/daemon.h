/* SPDX-License-Identifier: Apache-2.0
 *
 * The node's salusd, by way of salusctl: what a task's environment must have so that it runs as
 * under `salusctl run`, and whether it answers at all.
 *
 * Owner: the caller. Thread: the caller's, which waits.
 */
#ifndef DAEMON_PLACE_SLURM_SPANK_DAEMON_H
#define DAEMON_PLACE_SLURM_SPANK_DAEMON_H

#include <stdint.h>

#include "daemon/place/slurm/ask.h"
#include "daemon/place/slurm/spank/settings.h"

#define DAEMON_WHY_BYTES 600

struct daemon_task {
    const char *node;
    const struct ask *ask;
    uint32_t gpu;     /* NOTE_ANY_GPU: salusd's own choice */
    const char *name; /* of the job, in Salus's lists */
    char *const *env; /* the task's, so far */
    /* Called for each variable that is to be set. */
    void (*set)(void *self, const char *name, const char *value);
    void *self;
};

/* 0, or -errno with the reason in `why` (DAEMON_WHY_BYTES). */
int daemon_environment(const struct settings *s, const struct daemon_task *task, char *why);

/* Whether jobs would be served on that node: 0, or -errno and why not. */
int daemon_answers(const struct settings *s, const char *node, char *why);

#endif
