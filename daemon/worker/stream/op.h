/* SPDX-License-Identifier: Apache-2.0
 *
 * One accepted record on its way through the worker, and the slab of them that each client has: a
 * launch costs no malloc in the steady state. Owner: the client. Thread: the worker's.
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
#define OP_INLINE_BYTES 104u /* parameters that an operation carries in itself */

enum op_state {
    OP_QUEUED,
    OP_OFFERED, /* the scheduler decides when it runs */
    OP_RUNNING, /* on the device */
    OP_POSTED,  /* a host function that the client has been told to run, or a conditional node that
                   has begun */
    OP_PASSED,  /* nothing left to do but to wait for what is before it in its stream */
    OP_DONE,
};

/* In the order of use, so that an operation on its way touches few cache lines: its place among the
 * others, what it does, its parameters, the device's part, whose text is last. */
struct op {
    struct stream *stream;
    struct op *next;        /* in the free list or the client's deferred list */
    struct stream *waiters; /* streams that go on once this is complete */
    uint64_t number;        /* in order of arrival, over all streams of the client */
    uint64_t legacy_seq;    /* operation of stream 0 that must be complete first; 0: none */
    uint64_t following;     /* stream 0: operations of blocking streams between it and the next */
    uint64_t seq;
    uint64_t turn; /* in its line (op_order.h) */
    uint32_t iteration;
    uint8_t kind;  /* enum wire_op */
    uint8_t state; /* enum op_state */
    uint8_t blocking : 1;
    uint8_t counted : 1; /* in op_order.running or .open */
    uint8_t again : 1;   /* an earlier worker had given it to the device */
    uint8_t room;        /* which pool the parameters came from */
    union {
        struct {
            struct dev_launch args;
            struct kernel *kernel; /* held; NULL: without a profile */
            struct func *func;
            uint64_t number; /* from 1, in the order in which the client sent launches */
        } launch;
        struct dev_copy copy;
        struct dev_memset memset;
        struct {
            uint32_t id;
            uint32_t marks; /* WIRE_EVENT_*: the time that it asks for; 0: as CUDA has it */
            uint64_t arrived_ns;
            struct point *point; /* NULL: nobody else sees it */
        } event;
        struct {
            struct stream *on;
            uint64_t seq;
            struct point *point; /* NULL: for `on` */
        } wait;
        struct {
            uint64_t addr, value;
            uint32_t bytes, compare; /* WIRE_VALUE_* */
        } value;
        uint64_t token;
        struct graph_choice choice;      /* holds its graph */
        struct environment *environment; /* that settles */
        struct {
            struct wire_mem rec;
            uint64_t done_bytes; /* of it */
            int err;             /* what was done is taken back because of this */
        } mem;                   /* deferred */
        struct {
            struct wire_segment rec;
            uint64_t done_bytes;
        } segment;                        /* deferred */
        struct module *module;            /* deferred */
        struct wire_texture_drop texture; /* deferred */
        struct wire_array_drop array;     /* deferred */
    };
    uint64_t submitted_ns; /* to the device */
    unsigned char inline_params[OP_INLINE_BYTES];
    struct dev_op dev;
} __attribute__((aligned(OP_ALIGN)));

/* It is needed soon, and has left the cache since it was last touched. */
static inline void op_prefetch(const struct op *op) {
    __builtin_prefetch(op);
    __builtin_prefetch(&op->launch);
    __builtin_prefetch(&op->dev);
}

/* Every operation of the device's is the part of one of ours. */
static inline struct op *op_of(struct dev_op *dev) {
    return (struct op *)((char *)dev - offsetof(struct op, dev));
}

#define OP_ROOMS 4 /* inline, 1 KiB, 4 KiB, 32 KiB */

struct op_chunk;
struct op_room;

struct op_pool {
    struct op *free;
    struct op_chunk *chunks;
    struct op_room *rooms[OP_ROOMS]; /* free blocks for longer parameters */
};

void op_pool_init(struct op_pool *pool);
void op_pool_finish(struct op_pool *pool);

/* An operation with room for `param_bytes` (<= WIRE_PARAM_MAX) at launch.args.params; NULL when out
 * of memory. Its device part is cleared, the rest is the caller's to fill. */
struct op *op_take(struct op_pool *pool, uint16_t kind, uint32_t param_bytes);
/* Where a launch's parameters go, until `args` is filled. */
static inline void *op_params(const struct op *op) {
    return (void *)op->launch.args.params;
}
void op_give_room(struct op_pool *pool, struct op *op); /* its long parameters */
static inline void op_give(struct op_pool *pool, struct op *op) {
    if (op->room) op_give_room(pool, op);
    op->next = pool->free;
    pool->free = op;
}

#endif
