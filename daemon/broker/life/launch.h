/* SPDX-License-Identifier: Apache-2.0
 *
 * How a worker comes to life, for callers that bring their own; NULL: as in production, a process.
 */
#ifndef DAEMON_BROKER_LIFE_LAUNCH_H
#define DAEMON_BROKER_LIFE_LAUNCH_H

#include <stdint.h>

struct server_hooks {
    /* Starts a worker of that GPU that speaks over `fd`, which it now owns. It may go on with
     * device memory of `memory_fd`, which stays the caller's; -1: there is none. 0 or -errno. */
    int (*launch)(void *arg, uint32_t gpu, int fd, int memory_fd);
    void *arg;
};

#endif
