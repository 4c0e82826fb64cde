/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of one window: which are in use, for what, and which granules are backed by memory.
 * Large blocks take whole granules. Small ones share a granule with others of their size class, so
 * that frees and lookups are arithmetic. Memory is requested only when a granule is first needed. A
 * few empty granules stay backed; the memory of the others is freed. Up to a credit no request is
 * needed.
 *
 * Independent of workers and windows: memory within the credit comes and goes through two
 * functions. For memory beyond the credit vmem_alloc reserves the addresses and returns, so that
 * the caller can ask without its lock. Not thread-safe: the caller locks.
 */
#ifndef SHIM_MEMORY_VMEM_H
#define SHIM_MEMORY_VMEM_H

#include <stdbool.h>
#include <stdint.h>

#define VMEM_ALIGN 512u
#define VMEM_CLASSES 24

struct vmem_ops {
    /* Back whole granules with memory within the credit, and undo that. Neither fails. */
    void (*back)(void *arg, uint64_t addr, uint64_t bytes);
    void (*unback)(void *arg, uint64_t addr, uint64_t bytes);
    /* Granules that may have memory without a request; may change at any time. NULL: any number. */
    uint64_t (*credit)(void *arg);
};

struct vmem_granule;
struct vmem_slab;

struct vmem {
    uint64_t base, granule, count; /* count: granules of the window */
    uint8_t *kinds; /* state of each granule, separate because searches run over them */
    struct vmem_granule *granules;
    struct vmem_slab *partial[VMEM_CLASSES]; /* slabs with a free slot */
    struct vmem_slab *slabs;      /* all slabs, since leak checkers do not search mapped tables */
    uint64_t lowest;              /* no granule below it is free */
    uint64_t cached, cache_limit; /* granules that are backed and empty; the most to keep */
    uint64_t used_granules;       /* granules of blocks, and of allocations in progress */
    uint64_t bare;                /* used granules without memory and without a request for it */
    const struct vmem_ops *ops;
    void *arg;
};

struct vmem_block {
    uint64_t addr, bytes; /* bytes as requested */
    uint32_t tag;         /* for the caller's use */
};

/* `granule`: a power of two >= 64 KiB that divides base and bytes. 0 or -ENOMEM. */
int vmem_init(struct vmem *v, uint64_t base, uint64_t bytes, uint64_t granule, uint64_t cache_bytes,
              const struct vmem_ops *ops, void *arg);
void vmem_finish(struct vmem *v);

/* An allocation that waits for memory: the caller requests [addr, addr + bytes), then calls
 * vmem_settle. */
struct vmem_ask {
    uint64_t addr, bytes;
    uint64_t wanted_bytes, first, count; /* the block; its granules */
    uint32_t tag;
    bool again; /* empty granules were freed for it already */
};

/* Allocates a block, aligned to VMEM_ALIGN. -EINVAL for 0 bytes, -ENOMEM when neither addresses nor
 * memory remain; -EAGAIN: `ask` must be settled first. */
int vmem_alloc(struct vmem *v, uint64_t bytes, uint32_t tag, uint64_t *addr, struct vmem_ask *ask);

/* Continues the allocation with the answer to a request; another request may follow. Results as for
 * vmem_alloc. */
int vmem_settle(struct vmem *v, struct vmem_ask *ask, bool granted, uint64_t *addr);

/* Returns -EINVAL unless a block begins at `addr`. */
int vmem_free(struct vmem *v, uint64_t addr);

/* Finds the block that contains `addr`; -ENOENT. */
int vmem_find(const struct vmem *v, uint64_t addr, struct vmem_block *out);

/* Finds the first block at or above `addr`; -ENOENT. */
int vmem_next(const struct vmem *v, uint64_t addr, struct vmem_block *out);

/* Gives the block that begins at `addr` to a new owner that requested `bytes` of equal capacity;
 * -EINVAL. */
int vmem_retag(struct vmem *v, uint64_t addr, uint64_t bytes, uint32_t tag);

/* Reserves addresses that never get memory here: whole granules, at a multiple of `align` (bytes, a
 * power of two; 0: none), at `want` if that is free. Searches from the window's end, away from
 * blocks. 0 or -ENOMEM. */
int vmem_reserve(struct vmem *v, uint64_t bytes, uint64_t align, uint64_t want, uint64_t *addr);
/* Releases addresses as they were reserved. */
void vmem_unreserve(struct vmem *v, uint64_t addr, uint64_t bytes);

/* Returns the granules of the block that begins at `addr`, which other processes see from now on:
 * their memory is freed when they are empty, and never cached. -EINVAL. */
int vmem_expose(struct vmem *v, uint64_t addr, uint64_t *first, uint64_t *bytes);

/* Frees the memory of every empty granule. */
void vmem_trim(struct vmem *v);

/* Returns the capacity of a request of `bytes`: blocks of equal capacity can replace each other. */
uint64_t vmem_capacity(const struct vmem *v, uint64_t bytes);

#endif
