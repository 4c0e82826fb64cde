/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a device's memory with a descriptor each. Parts that are held here outlive the worker
 * that created them, and the next worker continues with them. A part for which there is no
 * descriptor ends with its worker, and so do the jobs that use it: clients' descriptors have
 * precedence.
 *
 * Owner: struct worker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_WORKER_KEEPING_H
#define DAEMON_BROKER_WORKER_KEEPING_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct keeping_part;

struct keeping {
    struct keeping_part *parts; /* table by number */
    uint32_t cap, count;        /* table size; number of parts held */
    uint32_t start;             /* ordinal of the latest worker */
    unsigned closing;           /* batches that are being closed in another thread */
    bool crowded;               /* a part was not held for lack of descriptors, which was logged */
};

void keeping_init(struct keeping *k);
/* Closes all parts synchronously, at shutdown. */
void keeping_finish(struct keeping *k);

/* Another worker is started. */
void keeping_begin(struct keeping *k);

/* Takes over the descriptor of the part; *fd becomes -1. A negative *fd: the part has none. Returns
 * 0, or -EINVAL for an invalid number. */
int keeping_take(struct keeping *k, uint64_t id, int *fd);

/* Close the parts of earlier workers, or all. Many are closed in another thread, during which
 * `closing` is not 0: memory is free when its last holder closes it. */
void keeping_forget(struct keeping *k, uv_loop_t *loop);
void keeping_clear(struct keeping *k, uv_loop_t *loop);

/* Returns a sealed memfd of wire_kept that lists all parts by their descriptors' numbers here; or
 * -errno. */
int keeping_list(const struct keeping *k);

/* Sets *id to the next held part at or after *id and returns its descriptor; -1: there is none. */
int keeping_next(const struct keeping *k, uint32_t *id);

#endif
