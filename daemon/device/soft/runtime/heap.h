/* SPDX-License-Identifier: Apache-2.0
 *
 * The device heap of one client, behind malloc() and free() in its kernels. Allocations outlive the
 * launch that made them, so the heap belongs to the client's space. Its bookkeeping lies outside of
 * the memory it hands out: a kernel can spoil its own data with a stray store, never the allocator.
 * Thread-safe.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_HEAP_H
#define DAEMON_DEVICE_SOFT_RUNTIME_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap;

/* A heap over [lo, hi), memory of the client that stays mapped for the heap's life (it may be
 * backed lazily: the heap never touches it). NULL when out of memory. */
struct heap *heap_create(uint64_t lo, uint64_t hi);
void heap_destroy(struct heap *h);

/* Address of `bytes` bytes, aligned to 16; 0 when there is no room (or bytes is 0). */
uint64_t heap_alloc(struct heap *h, uint64_t bytes);
/* 0; -EINVAL when `addr` is not the start of an allocation. Freeing 0 is allowed. */
int heap_free(struct heap *h, uint64_t addr);

/* Something was given out, now or before. */
bool heap_touched(struct heap *h);
/* From now on it cuts from [lo, hi), what was left of other memory is not used any more. */
void heap_extend(struct heap *h, uint64_t lo, uint64_t hi);
/* Nothing of it is given out. */
bool heap_unused(struct heap *h);

#endif
