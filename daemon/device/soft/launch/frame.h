/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations of functions, and the pool that a block takes them from: by size, so that calls cost
 * no allocation once it is warm; counted, so that endless recursion ends as a fault of its launch.
 * Owner: the block. Thread: the one that runs it.
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
    const struct code_inst *call; /* in the parent; NULL: the kernel itself */
    uint32_t live;                /* lanes that have not left it */
    uint32_t depth;
    uint32_t local_offset; /* of its local memory in each lane's stack */
    uint32_t *tops;        /* what each lane took behind it; NULL: its function takes nothing */
    uint32_t bytes;        /* of this allocation */
    struct frame *next;    /* in the pool */
    struct frame *older;   /* of all that the block ever took */
};

/* Of all frames of a block. */
struct frame_pool {
    struct launch *launch;  /* whose share they count against */
    uint64_t stack_bytes;   /* of a lane's local memory, which frames divide among them */
    struct frame *free[28]; /* by power of two */
    struct frame *newest;   /* all of them, through `older` */
    uint64_t bytes;         /* taken from the system */
};

void frame_pool_finish(struct frame_pool *p);

/* With registers that are zero. NULL: stack, depth or memory are used up. */
struct frame *frame_push(struct frame_pool *p, const struct code_func *f, struct frame *parent,
                         const struct code_inst *call, uint32_t mask);
/* Nothing is taken behind it any more. */
void frame_take_back(struct frame *f);
void frame_free(struct frame_pool *p, struct frame *f);

#endif
