/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the client in both windows: device memory, and host memory that the device sees at the
 * same address (pinned, managed, and this library's own buffers). Any thread.
 */
#ifndef SHIM_MEM_H
#define SHIM_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

enum mem_kind {
    MEM_PLAIN,     /* cuMemAlloc */
    MEM_POOLED,    /* handed out by a pool; `detail` is the pool */
    MEM_POOL_FREE, /* kept by a pool */
    MEM_PINNED,    /* cuMemHostAlloc; `detail` is its flags */
    MEM_MANAGED,
    MEM_VARIABLE, /* declared __managed__; placed by the worker */
    MEM_OWN,      /* staging and answers */
};

struct mem_block {
    uint64_t addr, bytes;
    enum mem_kind kind;
    uint32_t owner; /* index of the context */
    uint32_t detail;
    bool device; /* which window */
};

/* After the connection was made. 0 or -errno. */
int mem_init(void);

/* Device memory for MEM_PLAIN and MEM_POOLED, host memory for the other kinds. Aligned to 512. */
CUresult mem_take(enum mem_kind kind, uint32_t owner, uint32_t detail, uint64_t bytes,
                  uint64_t *addr);
/* Nothing of the device may still use it. */
void mem_give(uint64_t addr);
/* The block of device memory that begins at `addr` becomes another kind, of `bytes` that need the
 * same capacity. */
void mem_turn(uint64_t addr, uint64_t bytes, enum mem_kind kind, uint32_t owner, uint32_t detail);

/* The block that contains `addr`; false when the window has none there. */
bool mem_find(uint64_t addr, struct mem_block *out);

/* What a request occupies: blocks of equal capacity can stand in for each other. */
uint64_t mem_capacity(uint64_t bytes);

/* Frees what the context owns, but for MEM_OWN. */
void mem_release(uint32_t owner);

#endif
