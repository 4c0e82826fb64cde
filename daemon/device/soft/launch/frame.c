/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames. Each lane has a stack of local memory. A frame stores its offset there, aligned as its
 * function's variables demand. A lane is in only one chain of frames.
 */
#include "daemon/device/soft/launch/frame.h"

#include <string.h>

#include "daemon/device/soft/launch/launch_memory.h"

/* Limit of the bytes of one block's frames, in addition to launch_deep. */
#define FRAME_MAX_BYTES (64ull << 20)
#define FRAME_MAX_DEPTH 100000
#define TOPS_BYTES (WARP_LANES * (uint32_t)sizeof(uint32_t))

static uint32_t class_of(uint32_t bytes) {
    uint32_t c = 10; /* 1 KiB */
    while (1ull << c < bytes)
        c++;
    return c;
}

static struct frame *alloc_frame(struct frame_pool *p, const struct code_func *f) {
    uint32_t bytes =
        64 + (((uint32_t)sizeof(struct frame) + 63) & ~63u) + f->reg_bytes + CODE_SLACK;
    if (f->stack) bytes += TOPS_BYTES;
    uint32_t c = class_of(bytes);
    struct frame *frame = p->free[c];
    if (frame) {
        p->free[c] = frame->next;
    } else {
        if (p->bytes + (1ull << c) > FRAME_MAX_BYTES + launch_deep(p->launch)) return NULL;
        if (!launch_charge(p->launch, 1ll << c)) return NULL;
        frame = launch_memory_take(p->launch->config.memory, 1ull << c);
        if (!frame) {
            launch_charge(p->launch, -(1ll << c));
            return NULL;
        }
        p->bytes += 1ull << c;
        frame->older = p->newest;
        p->newest = frame;
    }
    struct frame *older = frame->older;
    memset(frame, 0, bytes);
    frame->older = older;
    frame->bytes = 1u << c;
    frame->regs = (unsigned char *)frame + ((sizeof(struct frame) + 63) & ~(size_t)63);
    if (f->stack) frame->tops = (uint32_t *)((unsigned char *)frame + bytes - TOPS_BYTES);
    return frame;
}

/* Returns the offset above which these lanes use nothing. */
static uint32_t end_of(const struct frame *f, uint32_t mask) {
    uint32_t most = 0;
    for (uint32_t left = f->tops ? mask : 0; left; left &= left - 1) {
        uint32_t top = f->tops[__builtin_ctz(left)];
        if (top > most) most = top;
    }
    return f->local_offset + f->func->local_bytes + most;
}

struct frame *frame_push(struct frame_pool *p, const struct code_func *f, struct frame *parent,
                         const struct code_inst *call, uint32_t mask) {
    uint32_t end = parent ? end_of(parent, mask) : 0;
    uint32_t offset = (end + f->local_align - 1) & ~(f->local_align - 1);
    if ((uint64_t)offset + f->local_bytes > p->stack_bytes) return NULL;
    if (parent && parent->depth >= FRAME_MAX_DEPTH) return NULL;
    struct frame *frame = alloc_frame(p, f);
    if (!frame) return NULL;
    frame->func = f;
    frame->parent = parent;
    frame->call = call;
    frame->live = mask;
    frame->depth = parent ? parent->depth + 1 : 0;
    frame->local_offset = offset;
    return frame;
}

void frame_take_back(struct frame *f) {
    if (f->tops) memset(f->tops, 0, TOPS_BYTES);
}

void frame_free(struct frame_pool *p, struct frame *f) {
    uint32_t c = class_of(f->bytes);
    f->next = p->free[c];
    p->free[c] = f;
}

void frame_pool_finish(struct frame_pool *p) {
    while (p->newest) {
        struct frame *f = p->newest;
        p->newest = f->older;
        launch_memory_give(p->launch->config.memory, f, f->bytes);
    }
    launch_charge(p->launch, -(int64_t)p->bytes);
    p->bytes = 0;
}
