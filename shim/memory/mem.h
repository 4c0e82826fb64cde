/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the client: device memory, in a window for what outlives iterations and one for what
 * does not, and host memory that the device sees at the same address (pinned, managed, and this
 * library's own buffers). Any thread.
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
    MEM_POOLED,    /* handed out by a pool; `detail` is the pool */
    MEM_POOL_FREE, /* kept by a pool */
    MEM_GRAPH,     /* of graphs: of the host; that of the device is placed (placed.h) */
    MEM_PINNED,    /* cuMemHostAlloc; `detail` is its flags */
    MEM_MANAGED,
    MEM_VARIABLE, /* declared __managed__; placed by the worker */
    MEM_ARRAY,    /* cuArrayCreate: reached by its handle alone */
    MEM_OWN,      /* staging and answers */
    MEM_SHADOW,   /* stands for registered memory (registered.h) */
    MEM_MAPPED,   /* shown of a segment (virtual.h); `detail`: by which handles it may be had */
};

/* Windows of device memory. */
enum mem_window { MEM_PERSISTENT, MEM_EPHEMERAL, MEM_WINDOWS };

struct mem_block {
    uint64_t addr, bytes;
    enum mem_kind kind;
    uint32_t owner; /* index of the context */
    uint32_t detail;
    bool device;            /* else of the host window */
    enum mem_window window; /* of device memory */
};

/* A thread's place in the program, by which its allocations are told apart: what it launched, and
 * how much it allocated, last. */
struct mem_thread {
    struct learn_launch latest;
    uint64_t previous_bytes;
    uint64_t refused_bytes; /* by a limit, and not said yet (mem_refused); 0: none were */
};

extern __thread struct mem_thread mem_self __attribute__((tls_model("initial-exec")));

/* Where a block of device memory is to go, and what it will be remembered by. */
struct mem_place {
    enum mem_window window;
    uint64_t key;
};

/* After the connection was made. 0 or -errno. */
int mem_init(void);

/* The result of a call that allocates. Where that is CUDA_ERROR_OUT_OF_MEMORY, a limit that refused
 * memory meanwhile is said: what the library keeps itself often makes room for a second try. */
CUresult mem_refused(CUresult r);

/* The device has the pages of host memory that it was shown once pinned for good: their file's
 * place must not get others. */
bool mem_host_is_pinned(void);

/* Host memory: MEM_POOLED, MEM_PINNED and later kinds. Aligned to 512, as everything here. Before
 * the device uses it the caller calls mem_tell, with no lock held. */
CUresult mem_take(enum mem_kind kind, uint32_t owner, uint32_t detail, uint64_t bytes,
                  uint64_t *addr);

/* Where the next allocation of this thread belongs. `stream`: of those that are ordered in one,
 * else LEARN_NO_STREAM. Once an allocation. */
struct mem_place mem_place(uint64_t bytes, uint32_t stream);
/* The other window, for an allocation that was refused in the first: what is free of either counts
 * as free (headroom.h). */
static inline struct mem_place mem_elsewhere(const struct mem_place *place) {
    bool ephemeral = place->window == MEM_EPHEMERAL;
    return (struct mem_place){.window = ephemeral ? MEM_PERSISTENT : MEM_EPHEMERAL,
                              .key = place->key};
}
/* Device memory there: MEM_PLAIN, MEM_POOLED or MEM_ARRAY. */
CUresult mem_take_device(const struct mem_place *place, enum mem_kind kind, uint32_t owner,
                         uint32_t detail, uint64_t bytes, uint64_t *addr);

/* Nothing of the device may still use it. */
void mem_give(uint64_t addr);

/* A MEM_POOLED block, of either memory, is freed, but its pool keeps it; is handed out again, where
 * `bytes` need the same capacity; or leaves the pool. These three only write the books, under the
 * pool's lock: whoever called one calls mem_tell when he holds none, before he sends what uses the
 * memory. */
void mem_keep(const struct mem_block *m);
void mem_reuse(uint64_t addr, const struct mem_place *place, uint32_t owner, uint32_t detail,
               uint64_t bytes);
void mem_give_kept(uint64_t addr);

/* Until the worker was sent what the books say: waits only while the ring is full. */
void mem_tell(void);

/* The block that contains `addr`; false when the window has none there. */
bool mem_find(uint64_t addr, struct mem_block *out);

/* The program fills the block by a copy or a memset that it is about to send. */
void mem_written(const struct mem_block *b);

/* Addresses of a window, without memory: as vmem_reserve. */
CUresult mem_reserve(enum mem_window window, uint64_t bytes, uint64_t align, uint64_t want,
                     uint64_t *addr);
void mem_unreserve(uint64_t addr, uint64_t bytes);

/* Segments (wire.h): so many bytes of one are about to be asked for; whether they were granted.
 * Meanwhile and afterwards they are no credit for blocks of the window. */
void mem_segment_ask(enum mem_window window, uint64_t bytes);
void mem_segment_told(enum mem_window window, uint64_t bytes, bool granted);
/* Memory of the device that is at no address: arrays of its own. Only for the books. */
void mem_count_array(uint64_t bytes, bool made);
/* Whole granules of reserved addresses show it from its beginning, or nothing any more; the process
 * has it no more. These only write the books, as mem_keep. */
void mem_segment_show(uint32_t segment, uint64_t addr, uint64_t bytes);
void mem_segment_hide(uint64_t addr, uint64_t bytes);
void mem_segment_close(enum mem_window window, uint32_t segment, uint64_t bytes);

/* The block's memory is a segment from now on, which others open by its key, as long as it lives;
 * where in it the block is. */
CUresult mem_share(uint64_t addr, uint64_t *key, uint64_t *offset);

/* Gives the memory of empty granules back, so that others find room. */
void mem_trim(void);

/* What a graph allocated in the ephemeral window is freed by a call: the graph's records said that
 * it was given out. Only writes the books, as mem_keep. */
void mem_rest(uint64_t addr, uint64_t bytes);

/* What others wrote into the books is sent as well: for a request that builds on it. */
void mem_tell_all(void);

/* No window has addresses for so many bytes of device memory. What is less the worker may refuse: a
 * limit of the user may have been raised since the program was told its total. */
bool mem_is_beyond(uint64_t bytes);

/* Bytes of device memory in use, in whole granules. */
uint64_t mem_used(void);
/* Bytes that the program could allocate, of the kind of which it can have most (wire_obtainable).
 */
uint64_t mem_free(void);
/* Times that the worker had no memory for what the program asked. */
extern _Atomic uint32_t mem_refusals;

/* What a request occupies: blocks of equal capacity can stand in for each other. Of host memory
 * unless of the device. */
uint64_t mem_capacity(uint64_t bytes, bool device);

/* Frees what the context owns, but for MEM_OWN and MEM_SHADOW. */
void mem_release(uint32_t owner);

#endif
