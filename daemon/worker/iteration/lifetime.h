/* SPDX-License-Identifier: Apache-2.0
 *
 * The live blocks of a client's ephemeral window, from MEM_USE and MEM_DROP, and which of them
 * outlive an iteration with data in them. Such survivors are normal: gradients until they are
 * zeroed, a kept loss, prefetched input (Salus, section 3.2.1, divides memory by lifetime).
 *
 * A block is fresh until something can have written to it: any launch after its allocation, or a
 * copy or memset into it. Where an iteration begins (lifetime_mark), the blocks that are not fresh
 * are the survivors of the previous iteration. They stay survivors, freed or not, until that is
 * complete and lifetime_settle has handled them.
 *
 * At most LIFETIME_BLOCKS are tracked. While there are more, the whole window counts as a survivor:
 * slower, never wrong.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ITERATION_LIFETIME_H
#define DAEMON_WORKER_ITERATION_LIFETIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/list.h"
#include "common/slotmap.h"

#define LIFETIME_BLOCKS 65536u

struct lifetime_block;

struct lifetime {
    uint64_t base, bytes; /* address range of the window */
    struct list fresh, filled, survivors, kept;
    struct list free;
    struct lifetime_block *blocks;
    uint32_t used;          /* blocks from this index on were never used */
    struct slotmap by_addr; /* the live blocks */
    uint64_t seed;
    uint64_t untracked; /* live blocks beyond LIFETIME_BLOCKS */
    uint64_t live_bytes;
    uint64_t uses, filled_uses; /* MEM_USE records so far, and those before the latest launch with
                                   fresh blocks */
    /* how often a launch filled the fresh blocks; the count at the mark */
    uint64_t fills, mark_fills;
    uint32_t epoch; /* incremented by each mark */
    bool marked;    /* marked and not settled */
    bool crowded;   /* blocks were untracked at the mark */
};

/* `seed`: a secret, because the client chooses the addresses. */
void lifetime_init(struct lifetime *l, uint64_t base, uint64_t bytes, uint64_t seed);
void lifetime_finish(struct lifetime *l);

/* Return 0, or ERR_PROTOCOL with `why`. use: the block is outside the window or in use, or live
 * blocks exceed the window's size. drop: it was never allocated, or not with these bytes. */
int lifetime_use(struct lifetime *l, uint64_t addr, uint64_t bytes, char *why, size_t why_bytes);
int lifetime_drop(struct lifetime *l, uint64_t addr, uint64_t bytes, char *why, size_t why_bytes);

/* Counts a MEM_USE from the ring. The client counts these too; neither counts those in graphs. */
static inline void lifetime_announced(struct lifetime *l) {
    l->uses++;
}

/* A copy or memset into this range was sent. */
void lifetime_written(struct lifetime *l, uint64_t addr, uint64_t bytes);
void lifetime_fill(struct lifetime *l);
/* A launch was sent. */
static inline void lifetime_launch(struct lifetime *l) {
    if (!list_empty(&l->fresh)) lifetime_fill(l);
}

/* An iteration begins; the latest one before it is settled. */
void lifetime_mark(struct lifetime *l);
/* Calls `see` for the range of each block that lifetime_settle would handle, until it returns
 * false. Returns false in that case. */
bool lifetime_survivors(const struct lifetime *l,
                        bool (*see)(void *arg, uint64_t addr, uint64_t bytes), void *arg);
/* Calls `keep` for the range of each survivor. True: its pages are now the client's persistent
 * memory, and it is not asked about again. False: it is asked about at the next boundary, if it is
 * live then. Returns the number of blocks that survive for the first time. */
uint64_t lifetime_settle(struct lifetime *l, bool (*keep)(void *arg, uint64_t addr, uint64_t bytes),
                         void *arg);

#endif
