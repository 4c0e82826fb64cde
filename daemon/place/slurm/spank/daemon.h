/* SPDX-License-Identifier: Apache-2.0
 *
 * Access to the node's salusd through salusctl: the environment that lets a task run as under
 * `salusctl run`, and a test whether salusd answers.
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
    uint32_t gpu;     /* NOTE_ANY_GPU: salusd chooses */
    const char *name; /* the job's name in Salus's lists */
    char *const *env; /* the task's present environment */
    /* Called for each variable to set. */
    void (*set)(void *self, const char *name, const char *value);
    void *self;
};

/* Returns 0, or -errno with the reason in `why` (DAEMON_WHY_BYTES). */
int daemon_environment(const struct settings *s, const struct daemon_task *task, char *why);

/* Tests whether salusd on that node would serve jobs. Returns 0, or -errno with the reason in
 * `why`. */
int daemon_answers(const struct settings *s, const char *node, char *why);

#endif
