/* SPDX-License-Identifier: Apache-2.0
 *
 * What a space's kernels find beside its memory: a heap behind malloc(), the device runtime, and
 * CUDA's limits of both. The first module whose kernels may need one of them brings it, in the
 * module window, and it goes with the last; but a heap stays as long as anything of it is in use.
 *
 * Owner: the space's. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_PROVISION_H
#define DAEMON_DEVICE_SOFT_DEV_PROVISION_H

#include <stdint.h>

#include "common/list.h"

struct dev_info;
struct dev_space;
struct heap;
struct runtime;

struct provision {
    struct dev_space *space;
    const struct dev_info *info;
    struct heap *heap; /* NULL: none is needed */
    struct list heap_block;
    uint64_t heap_lo, heap_room;
    uint64_t heap_bytes;     /* of the room, that it has or will have */
    uint32_t heap_users;     /* modules */
    struct runtime *runtime; /* NULL: none is needed */
    struct list runtime_block;
    uint64_t runtime_bytes;
    uint32_t runtime_users;
    uint32_t pending;                 /* launches that it allows */
    uint64_t stack_bytes, text_bytes; /* limits that are only told */
};

/* NULL when out of memory. `info`: the device's, which outlives it. To be ended before the space.
 */
struct provision *provision_create(struct dev_space *space, const struct dev_info *info);
void provision_destroy(struct provision *p);

/* 0, ERR_NO_MEMORY or -ENOMEM. */
int provision_take_heap(struct provision *p);
void provision_give_heap(struct provision *p);
int provision_take_runtime(struct provision *p);
void provision_give_runtime(struct provision *p);

/* The device's operations space_unrestorable, space_limit and space_limit_bytes. */
const char *provision_unrestorable(const struct provision *p);
int provision_limit(struct provision *p, uint32_t limit, uint64_t value);
uint64_t provision_limit_bytes(const struct provision *p, uint32_t limit, uint64_t value);

#endif
