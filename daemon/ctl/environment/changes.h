/* SPDX-License-Identifier: Apache-2.0
 *
 * The changes of this process's environment since a given moment, for setting them elsewhere.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_CHANGES_H
#define DAEMON_CTL_ENVIRONMENT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct changes {
    char **before; /* copies of NAME=value */
    size_t count;
};

/* Copies the environment. Returns 0 or -ENOMEM. */
int changes_take(struct changes *c);
/* Prints variables that are new or changed: as lines "export NAME='value'", after "unset NAME" for
 * removed ones; or with `null` as NAME=value and a NUL, which cannot express removal. */
void changes_print(const struct changes *c, FILE *out, bool null);
void changes_finish(struct changes *c);

#endif
