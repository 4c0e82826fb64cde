/* SPDX-License-Identifier: Apache-2.0
 *
 * A block in execution, for the files of exec/ that run its parts. One thread at a time runs a
 * block, the thread of its cluster, so that nothing here needs atomics.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_BLOCK_STATE_H
#define DAEMON_DEVICE_SOFT_LAUNCH_BLOCK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/frame.h"
#include "daemon/device/soft/launch/launch.h"

struct cluster;
struct warp_ctx;

#define BLOCK_BARRIERS (CODE_GROUP_BARRIER + 1)
#define BLOCK_MAX_WARPS 32

struct barrier {
    uint32_t expected; /* threads; 0: all that have not exited */
    uint32_t arrived;
    uint32_t phase;                  /* how many times the barrier has opened */
    uint32_t lanes[BLOCK_MAX_WARPS]; /* lanes that arrived, by warp */
    uint32_t true_count;             /* lanes with a true predicate, for bar.red */
};

struct fault {
    int err; /* 0: none */
    uint64_t addr;
    char text[160];
};

struct block {
    struct launch *launch;
    const struct launch_config *config; /* the launch's configuration */
    const struct code_kernel *kernel;
    uint32_t index[3];
    uint32_t warp_count, threads, live_threads;
    uint32_t next_warp; /* round robin */
    uint32_t slot;      /* index of this context in the grid */
    struct cluster *cluster;
    uint32_t rank; /* the block's rank in its cluster */
    struct warp_ctx *warps;
    unsigned char *shared; /* the block's part of the cluster's memory */
    uint64_t shared_bytes;
    uint64_t stacks; /* address of the stacks of all lanes */
    void *local;     /* memory that contains the stacks, local_room bytes */
    uint64_t local_room;
    bool local_mapped; /* `local` was mapped by mmap; false: taken from launch_memory */
    struct frame_pool frames;
    struct barrier barriers[BLOCK_BARRIERS];
    struct fault fault;
};

#endif
