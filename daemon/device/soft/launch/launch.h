/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel launch as its blocks see it: its configuration, and their shared state: the stop flag
 * and the memory of their frames. Owner: the grid. Threads: all threads that run its blocks read
 * it, and may change the two atomics.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_LAUNCH_H
#define DAEMON_DEVICE_SOFT_LAUNCH_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/launch/ranges.h"

struct clock_counts;
struct heap;
struct launch_memory;
struct nested;
struct runtime;
struct textures;

#define LAUNCH_WORKSPACE_BYTES 256
/* limit of each dimension, in blocks, and of the whole cluster (grid.c) */
#define LAUNCH_CLUSTER_MAX 16

struct launch_config {
    struct code_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t cluster[3];   /* blocks of a cluster; zeros: no clusters */
    uint32_t shared_bytes; /* dynamic */
    int cooperative;
    const void *params; /* owned by the caller while the launch lives: launch_param_place */
    uint32_t param_bytes;
    struct ranges *ranges; /* referenced while the launch lives */
    /* Called with what the kernel prints. */
    void (*text)(void *arg, int to_stderr, const char *text, size_t bytes);
    void *text_arg;
    /* The device's graph launch, as dev_space_ops.graph. */
    int (*launch_graph)(void *space, struct dev_graph *from, uint64_t handle,
                        enum dev_graph_order how);
    void *space;
    struct dev_graph *graph; /* graph that contains the launch; NULL: none that can launch graphs */
    struct clock_counts *counts; /* the client's, on a deterministic device; NULL: time is real */
    uint64_t stack_bytes;        /* CU_LIMIT_STACK_SIZE */
    struct heap *heap;       /* heap of malloc() in kernels, one per client (heap.h); NULL: none */
    struct runtime *runtime; /* used by kernels that call it (runtime.h); NULL: none */
    struct nested *self;     /* the grid as a member of its launch tree (nest.h); NULL: it is in
                              * none */
    const struct textures *textures; /* the client's; NULL: none */
    struct launch_memory *memory;    /* the client's; NULL: the system's */
};

struct launch {
    /* param_bytes: at least as many as the kernel declares; cluster: never 0 */
    struct launch_config config;
    bool clustered;           /* the launch has clusters */
    unsigned char *workspace; /* memory of grid.sync; NULL unless cooperative */
    uint64_t serial;
    _Atomic bool stopping;
    _Atomic int64_t frame_bytes;
};

/* Memory layout of parameters. Kernels may take their addresses, so they are aligned as the most
 * demanding one asks, and zeros follow the `given` bytes up to the declared size. launch_param_room
 * returns the size of the zeroed buffer, launch_param_place the start of the parameters in it. */
size_t launch_param_room(const struct code_kernel *k, uint32_t given);
unsigned char *launch_param_place(const struct code_kernel *k, void *room);

/* Returns 0 or -ENOMEM; after an error launch_finish must not be called. The caller has checked the
 * sizes in the configuration. */
int launch_init(struct launch *l, const struct launch_config *config);
void launch_finish(struct launch *l);

/* Bytes of frames that a block may take in addition to the usual limit, because its program asked
 * for deep stacks. */
uint64_t launch_deep(const struct launch *l);

/* Makes the launch's blocks end at their next slice. */
void launch_stop(struct launch *l);
bool launch_stopping(const struct launch *l);
/* Charges the launch for frame memory of any block, or gives it back (`bytes` < 0). Returns false,
 * with nothing charged, when the launch would exceed its limit. */
bool launch_charge(struct launch *l, int64_t bytes);

/* Number of blocks in a cluster, 1 without clusters. UINT32_MAX if a dimension exceeds
 * LAUNCH_CLUSTER_MAX. */
static inline uint32_t launch_cluster_size(const struct launch_config *c) {
    const uint32_t *n = c->cluster;
    if (n[0] > LAUNCH_CLUSTER_MAX || n[1] > LAUNCH_CLUSTER_MAX || n[2] > LAUNCH_CLUSTER_MAX)
        return UINT32_MAX;
    return (n[0] ? n[0] : 1) * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1);
}

/* Address of the workspace as kernels see it; 0: none. */
static inline uint64_t launch_workspace(const struct launch *l) {
    return (uint64_t)(uintptr_t)l->workspace;
}

#endif
