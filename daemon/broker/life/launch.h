/* SPDX-License-Identifier: Apache-2.0
 *
 * How a worker comes to life, for callers that bring their own; NULL: as in production, a process.
 */
#ifndef DAEMON_BROKER_LIFE_LAUNCH_H
#define DAEMON_BROKER_LIFE_LAUNCH_H

#include "daemon/broker/worker/spawn.h"

struct server_hooks {
    /* Starts a worker; the socket is its own from now on, in any case. 0 or -errno. */
    int (*launch)(void *arg, const struct spawn_launch *l);
    void *arg;
};

#endif
