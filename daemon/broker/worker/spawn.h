/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-gpu as a process of ours, with the configuration as its command line.
 */
#ifndef DAEMON_BROKER_WORKER_SPAWN_H
#define DAEMON_BROKER_WORKER_SPAWN_H

#include <uv.h>

#include "daemon/broker/config/config.h"
#include "daemon/broker/worker/keeping.h"
#include "proto/wire/wire.h"

/* What one worker is given. But for `fd` they stay the caller's; -1: there is none. */
struct spawn_launch {
    uint32_t gpu;  /* its number */
    int fd;        /* its end of the socket pair */
    int memory_fd; /* device memory for it to go on with */
    int kept_fd;   /* a list of parts of that: an array of wire_kept */
};

struct spawn {
    const struct config *config; /* the GPU's */
    const struct policy_config *policy;
    uint64_t device_memory_bytes;  /* where the configuration says nothing; 0: the device's own */
    const struct keeping *keeping; /* what the list names */
    struct spawn_launch launch;    /* `fd` stays the caller's, too */
    uv_exit_cb on_exit;
};

/* Starts it: 0 or -errno, -ENOENT where there is no such program. Whether `process` needs closing,
 * also after a failure, is in *open. */
int spawn_worker(const struct spawn *what, uv_loop_t *loop, uv_process_t *process, bool *open);

#endif
