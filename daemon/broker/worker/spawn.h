/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts salus-gpu as a child process, with the configuration as its command line.
 */
#ifndef DAEMON_BROKER_WORKER_SPAWN_H
#define DAEMON_BROKER_WORKER_SPAWN_H

#include <uv.h>

#include "daemon/broker/config/config.h"
#include "daemon/broker/worker/held_memory.h"
#include "proto/wire/wire.h"

/* Descriptors for one worker. All but `fd` stay the caller's; -1: none. */
struct spawn_launch {
    uint32_t gpu;  /* number of the GPU */
    int fd;        /* the worker's end of the socket pair */
    int memory_fd; /* device memory to continue with */
    int kept_fd;   /* list of its parts: an array of wire_kept */
};

struct spawn {
    const struct config *config; /* the GPU's configuration */
    const struct policy_config *policy;
    uint64_t device_memory_bytes;      /* size if the configuration has none; 0: the device's own */
    const struct held_memory *keeping; /* the parts in the list */
    struct spawn_launch launch;        /* here `fd` stays the caller's, too */
    uv_exit_cb on_exit;
};

/* Starts the worker. Returns 0 or -errno, -ENOENT if the program is missing. Sets *open if
 * `process` must be closed, even after a failure. */
int spawn_worker(const struct spawn *what, uv_loop_t *loop, uv_process_t *process, bool *open);

#endif
