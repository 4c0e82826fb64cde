/* SPDX-License-Identifier: Apache-2.0
 *
 * A warp in execution, as handlers see it. Lanes that took different paths are splits, each with
 * its frame, program counter and mask; the warp runs one split at a time.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_WARP_H
#define DAEMON_DEVICE_SOFT_LAUNCH_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/launch/frame.h"
#include "daemon/device/soft/launch/ranges.h"

struct block;

/* States of a split: it can run, its lanes wait for other lanes of the warp, or they wait at the
 * barrier `bar`. */
enum split_state { SPLIT_RUN, SPLIT_MEET, SPLIT_BAR };

struct split {
    struct frame *frame;
    uint64_t order; /* the greatest runs first among equally preferred splits; never 0 */
    int32_t pc;
    uint32_t mask;
    uint8_t state, bar;
};

struct warp_ctx {
    struct warp w; /* the handlers' part; first, so that they may be given this struct */
    bool stop;     /* after a fault: the loop ends */
    bool spin;     /* an access that may be polling ran since the last backward branch */
    /* an mbarrier wait failed since the last backward branch, which then ends the quantum */
    bool waits;
    uint32_t live; /* lanes that have not exited */
    /* Ranges of recent hits, by code_inst.target (CODE_WINDOW); tried before all others. They
     * outlive the block, since the launch's ranges do not change. */
    struct range windows[CODE_WINDOWS];
    uint64_t shared_base, shared_bytes;
    uint64_t cluster_base, cluster_bytes;           /* shared memory of all blocks of the cluster */
    uint64_t local_base, local_stride, local_bytes; /* stack of lane l: base + l * stride */
    uint64_t param_base, param_bytes;
    struct frame *frame; /* frame of the running split */
    struct block *block;
    uint32_t id;
    uint32_t split_count;
    uint32_t boost;     /* lanes preferred for a while, whatever their pc: fairness */
    uint32_t fair_lane; /* lane after which the next quantum begins */
    struct split splits[WARP_LANES + 1];
    struct frame *root;
    uint64_t warp_insts, thread_insts;
    uint64_t sectors; /* sectors (32 bytes) of global memory that accesses touched */
    uint32_t global;  /* lanes whose last checked access was to global memory */
    /* Error of each lane's latest failed call to the device runtime. */
    uint16_t last_error[WARP_LANES];
    uint32_t tid[3][WARP_LANES] __attribute__((aligned(64)));
};

/* Order of splits: the deepest frame first, then the lowest pc. */
static inline uint64_t warp_split_order(const struct frame *frame, int32_t pc) {
    return (uint64_t)frame->depth << 32 | (UINT32_MAX - (uint32_t)pc);
}

/* Adds a split. Runnable splits of one frame and pc are joined. */
void warp_split_add(struct warp_ctx *x, struct frame *frame, int32_t pc, uint32_t mask,
                    enum split_state state, uint32_t bar);

/* Reports a fault of `lane`; the first fault of a block counts. `what` completes the sentence
 * "<opcode> at line <n> of <function>: ..."; NULL selects the usual text for `err` and `addr`. */
void warp_fault(struct warp *w, const struct code_inst *i, uint32_t lane, int err, uint64_t addr,
                const char *what);

/* Address of a byte of a frame's local memory, for one lane. */
static inline unsigned char *warp_local(const struct warp_ctx *x, const struct frame *f,
                                        uint32_t lane, uint32_t offset) {
    return (unsigned char *)(uintptr_t)(x->local_base + lane * x->local_stride + f->local_offset +
                                        offset);
}

#endif
