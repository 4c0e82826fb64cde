/* SPDX-License-Identifier: Apache-2.0
 *
 * What a user may have, from the configuration: [users] is for everybody; of the groups that the
 * user is in and that have a section, the most generous value of each limit counts instead; what
 * its own section says counts over both. Root and the daemon's own user, who may end everybody's
 * jobs anyway, are bound only by what their own sections say.
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

/* Named as the options. */
#define LIMIT(name) (CONFIG_O_##name - CONFIG_LIMIT_FIRST)

struct limits {
    uint64_t value[CONFIG_LIMITS]; /* LIMITS_NONE: no bound */
};

void limits_resolve(const struct config *c, uid_t uid, const gid_t *groups, int count,
                    struct limits *out);

/* The lowest user from `least` on that has a section of its own; LIMITS_NONE: nobody. */
uint64_t limits_next(const struct config *c, uint64_t least);

/* Whether the daemon does whatever this user asks for. */
bool limits_admin(uid_t uid);

/* "user_jobs = 48", for people. */
const char *limits_text(const struct limits *l, int limit, char out[LIMITS_TEXT_BYTES]);

#endif
