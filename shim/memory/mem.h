/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the client. Device memory has one window for blocks that outlive iterations and one for
 * the others. Host memory is accessible to the device at the same address (pinned, managed, and
 * this library's own buffers). Any thread.
 */
#ifndef SHIM_MEMORY_MEM_H
#define SHIM_MEMORY_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/memory/learn.h"

enum mem_kind {
    MEM_PLAIN,     /* cuMemAlloc */
    MEM_POOLED,    /* allocated from a pool; `detail` is the pool */
    MEM_POOL_FREE, /* freed, and kept by a pool */
    MEM_GRAPH,     /* host memory of a graph; a graph's device memory is in placed.h */
    MEM_PINNED,    /* cuMemHostAlloc; `detail` is its flags */
    MEM_MANAGED,
    MEM_VARIABLE, /* declared __managed__; placed by the worker */
    MEM_ARRAY,    /* cuArrayCreate: accessible by its handle only */
    MEM_OWN,      /* staging buffers and replies of this library */
    MEM_SHADOW,   /* replaces registered memory (registered.h) */
    MEM_MAPPED,   /* maps a segment (virtual.h); `detail`: the handle types it can be exported as */
};

/* Windows of device memory. */
enum mem_window { MEM_PERSISTENT, MEM_EPHEMERAL, MEM_WINDOWS };

struct mem_block {
    uint64_t addr, bytes;
    enum mem_kind kind;
    uint32_t owner; /* index of the context */
    uint32_t detail;
    bool device;            /* device memory; else in the host window */
    enum mem_window window; /* window of device memory */
};

/* A thread's position in the program, which identifies its allocations: its last launch, and the
 * size of its last allocation. */
struct mem_thread {
    struct learn_launch latest;
    uint64_t previous_bytes;
    uint64_t refused_bytes; /* refused by a limit and not reported yet (mem_refused); 0: none */
};

extern __thread struct mem_thread mem_self __attribute__((tls_model("initial-exec")));

/* The window for a block of device memory, and the key by which its lifetime is learnt. */
struct mem_place {
    enum mem_window window;
    uint64_t key;
};

/* Called after the connection was made. 0 or -errno. */
int mem_init(void);

/* Returns the result of a call that allocates. If it is CUDA_ERROR_OUT_OF_MEMORY, a limit that
 * refused memory meanwhile is reported. It is not reported before, because memory that the library
 * keeps often satisfies a second try. */
CUresult mem_refused(CUresult r);

/* True when the device pins, for good, the parts of the host window that it maps: the pages of the
 * window's file at these offsets must not be replaced. */
bool mem_host_is_pinned(void);

/* Allocates host memory, aligned to 512 bytes, as all blocks are. CUDA_ERROR_OUT_OF_MEMORY or the
 * sticky error. Before the device uses it, the caller calls mem_tell, with no lock held. */
CUresult mem_take(enum mem_kind kind, uint32_t owner, uint32_t detail, uint64_t bytes,
                  uint64_t *addr);

/* Chooses the window for the next allocation of this thread. `stream`: for stream-ordered
 * allocations, else LEARN_NO_STREAM. Call it once for each allocation. */
struct mem_place mem_place(uint64_t bytes, uint32_t stream);
/* The other window, for an allocation that the first one refused: memory that is free in either
 * counts as free (headroom.h). */
static inline struct mem_place mem_elsewhere(const struct mem_place *place) {
    bool ephemeral = place->window == MEM_EPHEMERAL;
    return (struct mem_place){.window = ephemeral ? MEM_PERSISTENT : MEM_EPHEMERAL,
                              .key = place->key};
}
/* Allocates device memory at that place: MEM_PLAIN, MEM_POOLED or MEM_ARRAY. */
CUresult mem_take_device(const struct mem_place *place, enum mem_kind kind, uint32_t owner,
                         uint32_t detail, uint64_t bytes, uint64_t *addr);

/* Frees a block that no operation of the device uses any more. */
void mem_give(uint64_t addr);

/* For a MEM_POOLED block of either memory: mem_keep notes that it is freed but its pool keeps it;
 * mem_reuse hands it out again for `bytes` of the same capacity; mem_give_kept takes it out of the
 * pool. They only change the allocator, under the pool's lock. The caller then calls mem_tell
 * without locks, before it sends operations that use the memory. */
void mem_keep(const struct mem_block *m);
void mem_reuse(uint64_t addr, const struct mem_place *place, uint32_t owner, uint32_t detail,
               uint64_t bytes);
void mem_give_kept(uint64_t addr);

/* Sends the worker all records of this thread's changes: waits only while the ring is full. */
void mem_tell(void);

/* Finds the block that contains `addr`; false when the window has none there. */
bool mem_find(uint64_t addr, struct mem_block *out);

/* Notes that the program fills the block by a copy or a memset that it is about to send. */
void mem_written(const struct mem_block *b);

/* Reserve and release addresses of a window, without memory: as vmem_reserve. */
CUresult mem_reserve(enum mem_window window, uint64_t bytes, uint64_t align, uint64_t want,
                     uint64_t *addr);
void mem_unreserve(uint64_t addr, uint64_t bytes);

/* mem_segment_ask: `bytes` of a segment (wire.h) are about to be requested; mem_segment_told:
 * whether they were granted. From the request on they do not count as credit for blocks of the
 * window. */
void mem_segment_ask(enum mem_window window, uint64_t bytes);
void mem_segment_told(enum mem_window window, uint64_t bytes, bool granted);
/* Counts device memory without an address, of arrays that the device lays out itself. `made`: false
 * when the array was destroyed. */
void mem_count_array(uint64_t bytes, bool made);
/* Map a segment from its beginning at whole granules of reserved addresses, unmap it, or give it
 * up. They only change the allocator, as mem_keep does. */
void mem_segment_show(uint32_t segment, uint64_t addr, uint64_t bytes);
void mem_segment_hide(uint64_t addr, uint64_t bytes);
void mem_segment_close(enum mem_window window, uint32_t segment, uint64_t bytes);

/* Makes the memory of the block that begins at `addr` a segment for the rest of its life, which
 * others open by its key. `offset`: bytes from the segment's beginning to the block.
 * CUDA_ERROR_INVALID_VALUE: no block of device memory begins there. */
CUresult mem_share(uint64_t addr, uint64_t *key, uint64_t *offset);

/* Frees the memory of empty granules, so that others can have it. */
void mem_trim(void);

/* Announces to the worker that a call freed memory which a graph allocated in the ephemeral window;
 * the graph's records announced the allocation. The caller then calls mem_tell, as for mem_keep. */
void mem_rest(uint64_t addr, uint64_t bytes);

/* Also sends the records of other threads: for a request that depends on them. */
void mem_tell_all(void);

/* True for more bytes than both windows of device memory have addresses. Smaller requests are up to
 * the worker: a limit of the user may have been raised since the program was told its total. */
bool mem_is_beyond(uint64_t bytes);

/* Bytes of device memory in use, in whole granules; includes segments and arrays. */
uint64_t mem_used(void);
/* Bytes that the program could allocate, of the kind of which it can have most (wire_obtainable).
 */
uint64_t mem_free(void);
/* Counts how often the worker had no memory for a request of the program. */
extern _Atomic uint32_t mem_refusals;

/* Returns the capacity of a request: blocks of equal capacity can replace each other. `device`: of
 * device memory, else of host memory. */
uint64_t mem_capacity(uint64_t bytes, bool device);

/* Frees the blocks that the context owns, except MEM_OWN and MEM_SHADOW. */
void mem_release(uint32_t owner);

#endif
