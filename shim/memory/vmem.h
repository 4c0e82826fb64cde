/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of one window: which are in use, as what, and which granules have memory behind them.
 * Large blocks take whole granules; small ones share a granule with others of their size class, so
 * that freeing and looking up are arithmetic. Memory is asked for only when a granule is first
 * needed; a few empty granules are kept, the rest are given back. Up to a credit nobody needs to be
 * asked for it.
 *
 * Knows nothing of workers or windows: memory within the credit comes and goes through two
 * functions; for memory beyond it vmem_alloc reserves the addresses and returns, so that the caller
 * asks without his lock. Not thread-safe: the caller locks.
 */
#ifndef SHIM_MEMORY_VMEM_H
#define SHIM_MEMORY_VMEM_H

#include <stdbool.h>
#include <stdint.h>

#define VMEM_ALIGN 512u
#define VMEM_CLASSES 24

struct vmem_ops {
    /* Memory for whole granules, within the credit; and back. Neither fails. */
    void (*back)(void *arg, uint64_t addr, uint64_t bytes);
    void (*unback)(void *arg, uint64_t addr, uint64_t bytes);
    /* Granules that may have memory without asking; may change at any time. NULL: any number. */
    uint64_t (*credit)(void *arg);
};

struct vmem_granule;
struct vmem_slab;

struct vmem {
    uint64_t base, granule, count; /* count: granules of the window */
    uint8_t *kinds;                /* of each granule; apart, because searches run over them */
    struct vmem_granule *granules;
    struct vmem_slab *partial[VMEM_CLASSES]; /* slabs with a free slot */
    struct vmem_slab *slabs;                 /* all: leak checkers do not look into mapped tables */
    uint64_t lowest;                         /* no granule below it is free */
    uint64_t cached, cache_limit;            /* granules that are backed and empty */
    uint64_t used_granules;                  /* and reserved ones */
    uint64_t bare;                           /* of these: without memory, which nobody asked for */
    const struct vmem_ops *ops;
    void *arg;
};

struct vmem_block {
    uint64_t addr, bytes; /* bytes as asked for */
    uint32_t tag;         /* the caller's */
};

/* `granule`: a power of two >= 64 KiB that divides base and bytes. 0 or -ENOMEM. */
int vmem_init(struct vmem *v, uint64_t base, uint64_t bytes, uint64_t granule, uint64_t cache_bytes,
              const struct vmem_ops *ops, void *arg);
void vmem_finish(struct vmem *v);

/* An allocation that waits for memory: whoever has it asks for [addr, addr + bytes) and settles. */
struct vmem_ask {
    uint64_t addr, bytes;
    uint64_t wanted_bytes, first, count; /* the block; its granules */
    uint32_t tag;
    bool again; /* empty granules were given up for it */
};

/* Aligned to VMEM_ALIGN. -EINVAL for no bytes, -ENOMEM when neither addresses nor memory remain;
 * -EAGAIN: it is `ask` now. */
int vmem_alloc(struct vmem *v, uint64_t bytes, uint32_t tag, uint64_t *addr, struct vmem_ask *ask);

/* The answer: goes on with the allocation, which may have to ask for more. As vmem_alloc. */
int vmem_settle(struct vmem *v, struct vmem_ask *ask, bool granted, uint64_t *addr);

/* -EINVAL unless a block begins at `addr`. */
int vmem_free(struct vmem *v, uint64_t addr);

/* The block that contains `addr`; -ENOENT. */
int vmem_find(const struct vmem *v, uint64_t addr, struct vmem_block *out);

/* The first block at or above `addr`; -ENOENT. */
int vmem_next(const struct vmem *v, uint64_t addr, struct vmem_block *out);

/* Gives the block that begins at `addr` to a new owner, who asked for `bytes`, of equal capacity;
 * -EINVAL. */
int vmem_retag(struct vmem *v, uint64_t addr, uint64_t bytes, uint32_t tag);

/* Addresses without memory, which stay without it: whole granules, at a multiple of `align` (bytes,
 * a power of two; 0: none), at `want` if that is free. From the window's end, away from blocks.
 * 0 or -ENOMEM. */
int vmem_reserve(struct vmem *v, uint64_t bytes, uint64_t align, uint64_t want, uint64_t *addr);
/* As they were reserved. */
void vmem_unreserve(struct vmem *v, uint64_t addr, uint64_t bytes);

/* The granules of the block that begins at `addr`, which others see from now on: their memory is
 * given back when they are empty, and not kept. -EINVAL. */
int vmem_expose(struct vmem *v, uint64_t addr, uint64_t *first, uint64_t *bytes);

/* Gives the memory of every empty granule back. */
void vmem_trim(struct vmem *v);

/* Bytes that a request of `bytes` occupies: blocks of equal capacity can stand in for each other.
 */
uint64_t vmem_capacity(const struct vmem *v, uint64_t bytes);

#endif
