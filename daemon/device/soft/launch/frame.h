/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations of functions, and the pool from which a block takes them. The pool keeps free frames
 * by size, so that calls allocate nothing in the steady state. Limits of depth and of bytes end
 * endless recursion as a fault of its launch. Owner: the block. Thread: the one that runs the
 * block.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_FRAME_H
#define DAEMON_DEVICE_SOFT_LAUNCH_FRAME_H

#include <stdint.h>

#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/launch/launch.h"

/* An activation of a function by lanes that called it together. */
struct frame {
    const struct code_func *func;
    unsigned char *regs;
    struct frame *parent;
    const struct code_inst *call; /* call instruction in the parent; NULL: the kernel itself */
    uint32_t live;                /* lanes that have not left it */
    uint32_t depth;
    uint32_t local_offset; /* offset of the local memory in each lane's stack */
    uint32_t *tops;        /* bytes of alloca of each lane; NULL: the function has none */
    uint32_t bytes;        /* size of this allocation */
    struct frame *next;    /* link in the pool's free list */
    struct frame *older;   /* next in the list of all frames that the block took */
};

/* The frames of a block. */
struct frame_pool {
    struct launch *launch;  /* launch to which the memory is charged */
    uint64_t stack_bytes;   /* size of a lane's stack, which frames divide among them */
    struct frame *free[28]; /* free lists by power of two */
    struct frame *newest;   /* list of all frames, linked by `older` */
    uint64_t bytes;         /* bytes of all frames of the list `newest` */
};

void frame_pool_finish(struct frame_pool *p);

/* Creates a frame with zeroed registers. `mask`: the lanes that enter. Returns NULL when the lane's
 * stack, the depth or the memory is used up. */
struct frame *frame_push(struct frame_pool *p, const struct code_func *f, struct frame *parent,
                         const struct code_inst *call, uint32_t mask);
/* Releases what the frame's lanes took by alloca. */
void frame_take_back(struct frame *f);
void frame_free(struct frame_pool *p, struct frame *f);

#endif
