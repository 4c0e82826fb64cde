/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel launch, as all its blocks see it: what it was asked for, and what they share: whether to
 * stop, and how much memory their frames have taken. Owner: the grid. Threads: read by all that run
 * blocks of it; the two atomics are theirs to change.
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
#define LAUNCH_CLUSTER_MAX 16 /* blocks; more than 8 are not portable */

struct launch_config {
    struct code_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t cluster[3];   /* blocks of a cluster; zeros: the launch has none */
    uint32_t shared_bytes; /* dynamic */
    int cooperative;
    const void *params; /* the caller's while the launch lives: launch_param_place */
    uint32_t param_bytes;
    struct ranges *ranges; /* referenced while the launch lives */
    void (*text)(void *arg, int to_stderr, const char *text, size_t bytes);
    void *text_arg;
    /* Of the device; as dev_space_ops.graph. */
    int (*launch_graph)(void *space, struct dev_graph *from, uint64_t handle,
                        enum dev_graph_order how);
    void *space;
    struct dev_graph *graph;     /* that the launch is part of; NULL: none that launches others */
    struct clock_counts *counts; /* of a deterministic device, the client's; NULL: time is real */
    uint64_t stack_bytes;        /* CU_LIMIT_STACK_SIZE */
    struct heap *heap;           /* of malloc() in kernels, one a client (heap.h); NULL: none */
    struct runtime *runtime;     /* for kernels that call it (runtime.h); NULL: none */
    struct nested *self;         /* the grid, as its nest knows it (nest.h); NULL: it is in none */
    const struct textures *textures; /* of the client; NULL: none */
    struct launch_memory *memory;    /* of the client; NULL: the system's */
};

struct launch {
    struct launch_config config; /* param_bytes: as many as the kernel sees; cluster: never 0 */
    bool clustered;              /* it was given clusters */
    unsigned char *workspace;    /* of grid.sync; NULL unless cooperative */
    uint64_t serial;
    _Atomic bool stopping;
    _Atomic int64_t frame_bytes;
};

/* Parameters lie as a kernel sees them, which may take their addresses: as aligned as any of them
 * asks, and zeros behind the `given` bytes as far as it declares more. So many zeroed bytes are
 * room for them, and in these they begin there. */
size_t launch_param_room(const struct code_kernel *k, uint32_t given);
unsigned char *launch_param_place(const struct code_kernel *k, void *room);

/* 0 or -ENOMEM; then there is nothing to finish. The config's sizes were checked by the caller. */
int launch_init(struct launch *l, const struct launch_config *config);
void launch_finish(struct launch *l);

/* Bytes of frames that a block may have because its program asked for a deep stack. */
uint64_t launch_deep(const struct launch *l);

/* Its blocks end at their next slice. */
void launch_stop(struct launch *l);
bool launch_stopping(const struct launch *l);
/* Counts frame memory of all blocks; false when the launch has had its share. */
bool launch_charge(struct launch *l, int64_t bytes);

/* Blocks of a cluster. */
static inline uint32_t launch_cluster_size(const struct launch_config *c) {
    const uint32_t *n = c->cluster;
    if (n[0] > LAUNCH_CLUSTER_MAX || n[1] > LAUNCH_CLUSTER_MAX || n[2] > LAUNCH_CLUSTER_MAX)
        return UINT32_MAX;
    return (n[0] ? n[0] : 1) * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1);
}

/* Its address as kernels see it; 0: none. */
static inline uint64_t launch_workspace(const struct launch *l) {
    return (uint64_t)(uintptr_t)l->workspace;
}

#endif
