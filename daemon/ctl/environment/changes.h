/* SPDX-License-Identifier: Apache-2.0
 *
 * What has changed in this process's environment since it was looked at, for who sets it elsewhere.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_CHANGES_H
#define DAEMON_CTL_ENVIRONMENT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct changes {
    char **before; /* NAME=value, copied */
    size_t count;
};

/* 0 or -ENOMEM. */
int changes_take(struct changes *c);
/* Variables that are new or have another value: "export NAME='value'" a line, behind "unset NAME"
 * for those that are gone; or NAME=value and a NUL, which cannot tell of the latter. */
void changes_print(const struct changes *c, FILE *out, bool null);
void changes_finish(struct changes *c);

#endif
