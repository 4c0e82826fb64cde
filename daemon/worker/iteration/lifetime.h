/* SPDX-License-Identifier: Apache-2.0
 *
 * The blocks of a client's ephemeral window that are alive, from MEM_USE and MEM_DROP, and which of
 * them outlive an iteration with data in them. Such survivors are normal: gradients until they are
 * zeroed, a kept loss, prefetched input (Salus, section 3.2.1, divides memory by lifetime).
 *
 * A block is fresh until something can have written to it: any launch after it was given out, or a
 * copy or memset into it. Where an iteration begins (lifetime_mark), the blocks that are not fresh
 * are the survivors of the one before; they stay so, freed or not, until it is complete and
 * lifetime_settle has looked at them.
 *
 * At most LIFETIME_BLOCKS are told apart. While there are more, all of the window is taken for a
 * survivor: slower, never wrong.
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
    uint64_t base, bytes; /* of the window */
    struct list fresh, filled, survivors, kept;
    struct list free;
    struct lifetime_block *blocks;
    uint32_t used;          /* blocks from here on were never used */
    struct slotmap by_addr; /* of those that are alive */
    uint64_t seed;
    uint64_t untracked; /* blocks alive beyond LIFETIME_BLOCKS */
    uint64_t live_bytes;
    uint64_t uses, filled_uses; /* announced, and before the latest launch with fresh blocks */
    uint64_t fills, mark_fills; /* times that a launch filled the fresh blocks; before the mark */
    uint32_t epoch;             /* grows with each mark */
    bool marked;                /* and not settled */
    bool crowded;               /* some were untracked when it was marked */
};

/* `seed`: a secret, for the client chooses the addresses. */
void lifetime_init(struct lifetime *l, uint64_t base, uint64_t bytes, uint64_t seed);
void lifetime_finish(struct lifetime *l);

/* 0, or ERR_PROTOCOL with `why`: outside the window, given out twice, more than the window holds;
 * never given out, or not with these bytes. */
int lifetime_use(struct lifetime *l, uint64_t addr, uint64_t bytes, char *why, size_t why_bytes);
int lifetime_drop(struct lifetime *l, uint64_t addr, uint64_t bytes, char *why, size_t why_bytes);

/* A MEM_USE came in the ring, as which the client counts it: of those in graphs neither does. */
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
/* Calls `see` for the range of each that lifetime_settle would look at, until that is false: so is
 * the answer then. */
bool lifetime_survivors(const struct lifetime *l,
                        bool (*see)(void *arg, uint64_t addr, uint64_t bytes), void *arg);
/* Calls `keep` for the range of each survivor. True: its pages are the client's own now, and it is
 * not asked about again; false: it is asked about again at the next boundary, if it lives. Returns
 * how many survive for the first time. */
uint64_t lifetime_settle(struct lifetime *l, bool (*keep)(void *arg, uint64_t addr, uint64_t bytes),
                         void *arg);

#endif
