/* SPDX-License-Identifier: Apache-2.0
 *
 * One client's memory in the worker: its windows, its mappings, and the ranges that its kernels may
 * touch. Also the state of the space that its queues and modules use.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_SPACE_H
#define DAEMON_DEVICE_SOFT_DEV_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_textures.h"
#include "daemon/device/soft/dev/chunk.h"
#include "daemon/device/soft/dev/rotation.h"
#include "daemon/device/soft/launch/clock.h"
#include "daemon/device/soft/launch/launch_memory.h"
#include "daemon/device/soft/launch/ranges.h"

struct pool;
struct provision;
struct textures;

/* Configuration that the device gives each space. */
struct space_config {
    struct chunks *chunks;
    struct pool *pool;
    uint32_t capability; /* 90 for 9.0 */
    bool null;           /* the space computes nothing */
    const struct dev_space_ops *ops;
    void *ops_arg;
};

struct dev_space {
    struct space_config config;
    struct dev_windows windows;
    struct ranges *ranges;
    _Atomic bool over;           /* the space is cancelled; parsing of its modules stops */
    uint64_t memory_used;        /* bytes of module memory without chunks, charged to the device */
    struct provision *provision; /* the device creates and destroys it */
    struct textures *textures;   /* NULL: none yet */
    struct rotation rotation;    /* guarded by the pool's lock */
    struct clock_counts counts;  /* used on a deterministic device */
    struct launch_memory memory; /* host memory of its operations in flight */
    struct list queues;          /* dev_queue.space_link; guarded by the pool's lock */
    struct list blocks;          /* module window: allocated blocks in ascending order */
    struct list managed;         /* blocks of managed variables */
};

int space_create(const struct space_config *config, const struct dev_windows *windows,
                 struct dev_space **out);
void space_destroy(struct dev_space *space);
int space_chunk_map(struct dev_space *space, uint64_t addr, struct dev_chunk *const *chunks,
                    uint32_t count);
int space_chunk_unmap(struct dev_space *space, uint64_t addr, uint32_t count);
/* Allocates zeroed memory of the module window and puts it on `owner`. Unlike chunks, the memory
 * does not outlive the process. It comes from the window's end, since variables are at the
 * beginning. Returns 0 when there is none. */
uint64_t space_module_alloc(struct dev_space *space, uint64_t bytes, uint64_t align,
                            struct list *owner);
/* Allocates chunks for variables, from the module window's beginning. Returns 0 when there is no
 * space. */
uint64_t space_vars_alloc(struct dev_space *space, uint64_t bytes, uint64_t align,
                          struct list *owner);
/* Allocates memory for managed variables, from the host window's last part. Returns 0 when there is
 * no space. */
uint64_t space_managed_alloc(struct dev_space *space, uint64_t bytes, uint64_t align,
                             struct list *owner);
/* Restores memory that space_vars_alloc or space_managed_alloc allocated for a space in another
 * process, with its contents. Returns 0, -EINVAL, -ENOMEM or an error of chunk_adopt. */
int space_vars_adopt(struct dev_space *space, const struct dev_granule *where, uint32_t count,
                     struct list *owner);
/* Lists the granules of the blocks on `owner`, as module_where in device_recovery.h. */
uint32_t space_vars_where(const struct dev_space *space, const struct list *owner,
                          struct dev_granule *out, uint32_t cap);
void space_module_free(struct dev_space *space, struct list *owner);

/* The device's operations with these names (device.h). */
/* Ranges outside the windows, which others have mapped. */
int space_host_add(struct dev_space *s, uint64_t addr, uint64_t bytes);
int space_host_remove(struct dev_space *s, uint64_t addr, uint64_t bytes);
int space_host_map(struct dev_space *space, uint64_t addr, uint64_t bytes, int fd, uint64_t offset);
int space_texture_add(struct dev_space *space, const struct dev_texture *texture, uint64_t *seen);
void space_texture_remove(struct dev_space *space, uint64_t handle);

#endif
