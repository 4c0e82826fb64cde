/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a device's memory with a descriptor each. Parts that are held here outlive the worker
 * that created them, and the next worker continues with them. A part for which there is no
 * descriptor ends with its worker, and so do the jobs that use it: clients' descriptors have
 * precedence.
 *
 * Owner: struct worker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_WORKER_HELD_MEMORY_H
#define DAEMON_BROKER_WORKER_HELD_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct held_memory_part;

struct held_memory {
    struct held_memory_part *parts; /* table by number */
    uint32_t cap, count;            /* table size; number of parts held */
    uint32_t start;                 /* ordinal of the latest worker */
    unsigned closing;               /* batches of descriptors that another thread is closing */
    bool crowded; /* a part was not held for lack of descriptors, which was logged */
};

void held_memory_init(struct held_memory *k);
/* Closes all parts synchronously, at shutdown. */
void held_memory_finish(struct held_memory *k);

/* Another worker is started. */
void held_memory_begin(struct held_memory *k);

/* Takes over the descriptor of the part; *fd becomes -1. A negative *fd: the part has none. Returns
 * 0, or -EINVAL for an invalid number. */
int held_memory_take(struct held_memory *k, uint64_t id, int *fd);

/* Close the parts of earlier workers, or all. Many are closed in another thread, during which
 * `closing` is not 0: memory is free when its last holder closes it. */
void held_memory_forget(struct held_memory *k, uv_loop_t *loop);
void held_memory_clear(struct held_memory *k, uv_loop_t *loop);

/* Returns a sealed memfd of wire_kept that lists all parts by their descriptors' numbers here; or
 * -errno. */
int held_memory_list(const struct held_memory *k);

/* Sets *id to the next held part at or after *id and returns its descriptor; -1: there is none. */
int held_memory_next(const struct held_memory *k, uint32_t *id);

#endif
