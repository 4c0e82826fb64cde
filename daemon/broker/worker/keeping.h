/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a device's memory that have a descriptor each: what is held here outlives the worker
 * that made it, and is what the next one goes on with. One that has no room here ends with its
 * worker, and whoever uses it then, too: clients' descriptors come first.
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
    struct keeping_part *parts; /* by their number */
    uint32_t cap, count;        /* of which so many are held */
    uint32_t start;             /* of a worker, the latest */
    unsigned closing;           /* batches that are being let go of beside the loop */
    bool crowded;               /* one was not held for want of descriptors, which was said */
};

void keeping_init(struct keeping *k);
/* Lets go of all at once, for good. */
void keeping_finish(struct keeping *k);

/* Another worker is started. */
void keeping_begin(struct keeping *k);

/* The part has this descriptor from now on, which is taken: *fd becomes -1. Below 0: it has none.
 * 0; -EINVAL: there is no such number. */
int keeping_take(struct keeping *k, uint64_t id, int *fd);

/* Lets go of what earlier workers made; of all. Many of them beside the loop, which `closing` says
 * for that long: memory is free when the last who holds it lets go. */
void keeping_forget(struct keeping *k, uv_loop_t *loop);
void keeping_clear(struct keeping *k, uv_loop_t *loop);

/* A sealed memfd of wire_kept that names all, by the numbers that descriptors have here. -errno. */
int keeping_list(const struct keeping *k);

/* The next held part at or after *id, whose descriptor that is; -1: there is none. */
int keeping_next(const struct keeping *k, uint32_t *id);

#endif
