/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's limits, from the configuration. [users] applies to everybody. Sections of groups to
 * which the user belongs override it, with the most generous value of each limit. The user's own
 * section overrides both. Root and the daemon's own user, who may end all jobs anyway, are bound
 * only by their own sections.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_BROKER_CONFIG_LIMITS_H
#define DAEMON_BROKER_CONFIG_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/broker/config/config.h"

#define LIMITS_NONE UINT64_MAX
#define LIMITS_TEXT_BYTES 64

/* Index in limits.value of the option `name`. */
#define LIMIT(name) (CONFIG_O_##name - CONFIG_LIMIT_FIRST)

struct limits {
    uint64_t value[CONFIG_LIMITS]; /* LIMITS_NONE: unlimited */
};

void limits_resolve(const struct config *c, uid_t uid, const gid_t *groups, int count,
                    struct limits *out);

/* Returns the lowest user from `least` on with a section of their own; LIMITS_NONE: none. */
uint64_t limits_next(const struct config *c, uint64_t least);

/* The user may do everything. */
bool limits_admin(uid_t uid);

/* Prints "user_jobs = 48", for people. */
const char *limits_text(const struct limits *l, int limit, char out[LIMITS_TEXT_BYTES]);

#endif
