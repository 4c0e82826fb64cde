/* SPDX-License-Identifier: Apache-2.0
 *
 * The device heap of one client, for malloc() and free() in its kernels. Allocations outlive the
 * launch that made them, so the heap belongs to the client's space. Its bookkeeping lies outside
 * the memory that it hands out: a stray store of a kernel can spoil the kernel's data, never the
 * allocator. Thread-safe.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_HEAP_H
#define DAEMON_DEVICE_SOFT_RUNTIME_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap;

/* Creates a heap over [lo, hi), memory of the client that stays mapped for the heap's life. The
 * memory may be backed lazily: the heap never touches it. Returns NULL when out of memory. */
struct heap *heap_create(uint64_t lo, uint64_t hi);
void heap_destroy(struct heap *h);

/* Returns the address of `bytes` bytes, aligned to 16, or 0 when there is no space or `bytes` is
 * 0. */
uint64_t heap_alloc(struct heap *h, uint64_t bytes);
/* Returns 0, or -EINVAL when `addr` is not the start of an allocation. Freeing 0 is allowed. */
int heap_free(struct heap *h, uint64_t addr);

/* True if memory was allocated at any time. */
bool heap_touched(struct heap *h);
/* Allocates from [lo, hi) from now on. The rest of the old memory that was never allocated is not
 * used any more; freed pieces of it are. */
void heap_extend(struct heap *h, uint64_t lo, uint64_t hi);
/* True if no memory is allocated now. */
bool heap_unused(struct heap *h);

#endif
