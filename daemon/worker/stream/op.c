/* SPDX-License-Identifier: Apache-2.0
 *
 * The slab of operations. It grows with the largest number that a client ever had queued (a quota
 * bounds it), and is freed when the client leaves.
 */
#include "daemon/worker/stream/op.h"

#include <stdlib.h>
#include <string.h>

#define OPS_PER_CHUNK 64

struct op_chunk {
    struct op_chunk *next;
    struct op ops[OPS_PER_CHUNK];
} __attribute__((aligned(OP_ALIGN)));

struct op_room {
    struct op_room *next;
};

static const uint32_t room_bytes[OP_ROOMS] = {OP_INLINE_BYTES, 1024, 4096, 32768};
_Static_assert(WIRE_PARAM_MAX <= 32768, "the largest room holds any launch");
#define X(name, number, type) _Static_assert((number) <= UINT8_MAX, "op.kind holds it");
WIRE_OPS(X)
#undef X

void op_pool_init(struct op_pool *pool) {
    *pool = (struct op_pool){0};
}

void op_pool_finish(struct op_pool *pool) {
    for (struct op_chunk *c = pool->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    for (int i = 0; i < OP_ROOMS; i++)
        for (struct op_room *r = pool->rooms[i], *next; r; r = next) {
            next = r->next;
            free(r);
        }
    op_pool_init(pool);
}

static int grow_pool(struct op_pool *pool) {
    struct op_chunk *c = aligned_alloc(OP_ALIGN, sizeof(*c));
    if (!c) return 0;
    c->next = pool->chunks;
    pool->chunks = c;
    for (int i = 0; i < OPS_PER_CHUNK; i++) {
        c->ops[i].next = pool->free;
        pool->free = &c->ops[i];
    }
    return 1;
}

/* A block of the smallest size that fits. Sizes that fit inline are the caller's case. */
static void *take_room(struct op_pool *pool, uint32_t bytes, uint8_t *room) {
    uint8_t i = 1;
    while (room_bytes[i] < bytes)
        i++;
    struct op_room *r = pool->rooms[i];
    *room = i;
    if (!r) return malloc(room_bytes[i]);
    pool->rooms[i] = r->next;
    return r;
}

/* Takes the first free operation, with this place for its parameters. */
static inline struct op *take(struct op_pool *pool, uint16_t kind, void *params, uint8_t room) {
    struct op *op = pool->free;
    pool->free = op->next;
    if (op->next) op_prefetch(op->next);
    /* clears only the first byte of the text */
    memset(&op->dev, 0, offsetof(struct dev_op, fault_text) + 1);
    op->next = NULL;
    op->stream = op->waiters = NULL;
    op->number = op->legacy_seq = op->following = op->seq = 0;
    op->kind = (uint8_t)kind;
    op->state = OP_QUEUED;
    op->blocking = op->counted = op->again = 0;
    op->room = room;
    op->launch.args.params = params;
    return op;
}

static __attribute__((noinline)) struct op *take_large(struct op_pool *pool, uint16_t kind,
                                                       uint32_t param_bytes) {
    uint8_t room;
    void *params = take_room(pool, param_bytes, &room);
    return params ? take(pool, kind, params, room) : NULL;
}

static __attribute__((noinline)) struct op *take_first(struct op_pool *pool, uint16_t kind,
                                                       uint32_t param_bytes) {
    return grow_pool(pool) ? op_take(pool, kind, param_bytes) : NULL;
}

/* The rare cases are separate functions, so that the common one keeps nothing on the stack. */
struct op *op_take(struct op_pool *pool, uint16_t kind, uint32_t param_bytes) {
    if (!pool->free) return take_first(pool, kind, param_bytes);
    if (param_bytes > OP_INLINE_BYTES) return take_large(pool, kind, param_bytes);
    return take(pool, kind, pool->free->inline_params, 0);
}

void op_give_room(struct op_pool *pool, struct op *op) {
    struct op_room *r = (struct op_room *)op->launch.args.params;
    r->next = pool->rooms[op->room];
    pool->rooms[op->room] = r;
}
