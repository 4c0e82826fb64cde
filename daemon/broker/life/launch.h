/* SPDX-License-Identifier: Apache-2.0
 *
 * How to launch a worker, for callers with a launcher of their own; NULL: as a process.
 */
#ifndef DAEMON_BROKER_LIFE_LAUNCH_H
#define DAEMON_BROKER_LIFE_LAUNCH_H

#include "daemon/broker/worker/spawn.h"

struct server_hooks {
    /* Launches a worker, and takes the socket over in any case. Returns 0 or -errno. */
    int (*launch)(void *arg, const struct spawn_launch *l);
    void *arg;
};

#endif
