/* SPDX-License-Identifier: Apache-2.0
 *
 * Things that a space's kernels use in addition to its memory: a heap for malloc(), the device
 * runtime, and CUDA's limits of both. The first module whose kernels may need one of them creates
 * it, in the module window; it is freed with the last such module. But a heap remains as long as
 * any of its memory is in use.
 *
 * Owner: the space. Thread: the worker's.
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
    uint64_t heap_bytes;     /* part of heap_room that the heap has or will have */
    uint32_t heap_users;     /* modules */
    struct runtime *runtime; /* NULL: none is needed */
    struct list runtime_block;
    uint64_t runtime_bytes;
    uint32_t runtime_users;
    uint32_t pending; /* limit of pending launches */
    /* text_bytes is only reported; stack_bytes also sizes the stacks of launches */
    uint64_t stack_bytes, text_bytes;
};

/* Returns NULL when out of memory. `info` belongs to the device and outlives this. Must be
 * destroyed before the space. */
struct provision *provision_create(struct dev_space *space, const struct dev_info *info);
void provision_destroy(struct provision *p);

/* Return 0, ERR_NO_MEMORY or -ENOMEM. */
int provision_take_heap(struct provision *p);
void provision_give_heap(struct provision *p);
int provision_take_runtime(struct provision *p);
void provision_give_runtime(struct provision *p);

/* The device's operations space_unrestorable, space_limit and space_limit_bytes. */
const char *provision_unrestorable(const struct provision *p);
int provision_limit(struct provision *p, uint32_t limit, uint64_t value);
uint64_t provision_limit_bytes(const struct provision *p, uint32_t limit, uint64_t value);

#endif
