/* SPDX-License-Identifier: Apache-2.0
 *
 * One accepted record in the worker, and each client's slab of them: a launch calls no malloc in
 * the steady state. Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_OP_H
#define DAEMON_WORKER_STREAM_OP_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/worker/stream/graph.h"
#include "proto/wire/wire.h"

struct func;
struct kernel;
struct point;
struct module;
struct stream;

#define OP_ALIGN 64          /* a cache line */
#define OP_INLINE_BYTES 104u /* largest size of parameters stored in the operation itself */

enum op_state {
    OP_QUEUED,
    OP_OFFERED, /* the scheduler decides when it runs */
    OP_RUNNING, /* on the device */
    OP_POSTED,  /* a host function whose token the client has, or a conditional node that has begun
                 */
    OP_PASSED,  /* only waits for what is before it in its stream */
    OP_DONE,
};

/* In the order of use, so that an operation touches few cache lines: its place among the others,
 * its work, its parameters, and the device's part, which ends with its text. */
struct op {
    struct stream *stream;
    struct op *next;        /* in the free list or the client's deferred list */
    struct stream *waiters; /* streams that continue once this is complete */
    uint64_t number;        /* in order of arrival, over all streams of the client */
    uint64_t legacy_seq;    /* operation of stream 0 that must be complete first; 0: none */
    uint64_t following;     /* stream 0: blocking streams' operations before its next operation */
    uint64_t seq;
    uint64_t turn; /* position in the order of op_order.h */
    uint32_t iteration;
    uint8_t kind;  /* enum wire_op */
    uint8_t state; /* enum op_state */
    uint8_t blocking : 1;
    uint8_t counted : 1; /* counted in op_order.running or .open */
    uint8_t again : 1;   /* an earlier worker had given the operation to the device */
    uint8_t room;        /* index in op_pool.rooms of the parameters' block; 0: inline */
    union {
        struct {
            struct dev_launch args;
            struct kernel *kernel; /* held; NULL: without a profile */
            struct func *func;
            uint64_t number; /* number among the client's launches, from 1 */
        } launch;
        struct dev_copy copy;
        struct dev_memset memset;
        struct {
            uint32_t id;
            uint32_t marks; /* WIRE_EVENT_*: the requested time; 0: as in CUDA */
            uint64_t arrived_ns;
            struct point *point; /* NULL: no other client sees it */
        } event;
        struct {
            struct stream *on;
            uint64_t seq;
            struct point *point; /* NULL: waits for `on` */
        } wait;
        struct {
            uint64_t addr, value;
            uint32_t bytes, compare; /* WIRE_VALUE_* */
        } value;
        uint64_t token;
        struct graph_choice choice;      /* holds its graph */
        struct environment *environment; /* the environment that it settles */
        struct {
            struct wire_mem rec;
            uint64_t done_bytes; /* bytes done so far */
            int err;             /* the finished part is undone because of this error */
        } mem;                   /* deferred */
        struct {
            struct wire_segment rec;
            uint64_t done_bytes;
        } segment;                        /* deferred */
        struct module *module;            /* deferred */
        struct wire_texture_drop texture; /* deferred */
        struct wire_array_drop array;     /* deferred */
    };
    uint64_t submitted_ns; /* when it was given to the device */
    unsigned char inline_params[OP_INLINE_BYTES];
    struct dev_op dev;
} __attribute__((aligned(OP_ALIGN)));

/* Fetches an operation that is needed soon into the cache. */
static inline void op_prefetch(const struct op *op) {
    __builtin_prefetch(op);
    __builtin_prefetch(&op->launch);
    __builtin_prefetch(&op->dev);
}

/* Every operation of the device is part of one of the worker's. */
static inline struct op *op_of(struct dev_op *dev) {
    return (struct op *)((char *)dev - offsetof(struct op, dev));
}

#define OP_ROOMS 4 /* sizes: inline, 1 KiB, 4 KiB, 32 KiB */

struct op_chunk;
struct op_room;

struct op_pool {
    struct op *free;
    struct op_chunk *chunks;
    struct op_room *rooms[OP_ROOMS]; /* free blocks for longer parameters */
};

void op_pool_init(struct op_pool *pool);
void op_pool_finish(struct op_pool *pool);

/* An operation with space for `param_bytes` (<= WIRE_PARAM_MAX) at launch.args.params; NULL when
 * out of memory. Its device part is cleared; the caller fills the rest. */
struct op *op_take(struct op_pool *pool, uint16_t kind, uint32_t param_bytes);
/* The place for a launch's parameters, until `args` is filled. */
static inline void *op_params(const struct op *op) {
    return (void *)op->launch.args.params;
}
/* Gives the block of long parameters back to the pool. */
void op_give_room(struct op_pool *pool, struct op *op);
static inline void op_give(struct op_pool *pool, struct op *op) {
    if (op->room) op_give_room(pool, op);
    op->next = pool->free;
    pool->free = op;
}

#endif
