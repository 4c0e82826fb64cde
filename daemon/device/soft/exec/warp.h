/* SPDX-License-Identifier: Apache-2.0
 *
 * A warp and a block in execution. Lanes that went different ways are splits, each with its frame,
 * program counter and mask; the warp runs one split at a time. A block is run by one thread at a
 * time, so nothing here needs atomics except what the grid shares.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_WARP_H
#define DAEMON_DEVICE_SOFT_EXEC_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/code/decode.h"
#include "daemon/device/soft/exec/grid.h"

struct block;

/* An activation of a function by lanes that called it together. */
struct frame {
    const struct code_func *func;
    unsigned char *regs;
    struct frame *parent;
    const struct code_inst *call; /* in the parent; NULL: the kernel itself */
    uint32_t live;                /* lanes that have not left it */
    uint32_t depth;
    uint32_t local_offset; /* of its local memory in each lane's stack */
    uint32_t bytes;        /* of this allocation */
    struct frame *next;    /* in the pool */
    struct frame *older;   /* of all that the block ever took */
};

enum split_state { SPLIT_RUN, SPLIT_MEET, SPLIT_BAR };

struct split {
    struct frame *frame;
    int32_t pc;
    uint32_t mask;
    uint8_t state, bar;
};

struct warp_ctx {
    struct warp w; /* what handlers see; first, so that they may be given this */
    bool stop;     /* a fault: the loop ends */
    bool spin;     /* something that smells of waiting ran since the last backward branch */
    uint32_t live; /* lanes that have not exited */
    /* Where accesses hit lately, by code_inst.target (CODE_WINDOW): tried before all others. They
     * outlive the block, since the client's ranges are those of the launch. */
    struct range windows[CODE_WINDOWS];
    uint64_t shared_base, shared_bytes;
    uint64_t local_base, local_stride, local_bytes; /* of lane l: base + l * stride */
    uint64_t param_base, param_bytes;
    struct frame *frame; /* of the running split */
    struct block *block;
    uint32_t id;
    uint32_t split_count;
    uint32_t boost;     /* lanes that go first for a while, whatever their pc: fairness */
    uint32_t fair_lane; /* where the next turn begins */
    struct split splits[WARP_LANES + 1];
    struct frame *root;
    uint64_t warp_insts, thread_insts;
    uint64_t sectors; /* of global memory, touched by accesses */
    uint32_t global;  /* lanes of the access checked last that touch it */
    uint32_t tid[3][WARP_LANES] __attribute__((aligned(64)));
};

#define BLOCK_BARRIERS 17 /* 16 of the language, and one for barrier.cluster */
#define BLOCK_CLUSTER_BARRIER 16
#define BLOCK_MAX_WARPS 32

struct barrier {
    uint32_t expected; /* threads; 0: all that live */
    uint32_t arrived;
    uint32_t phase;                  /* times it opened */
    uint32_t lanes[BLOCK_MAX_WARPS]; /* who arrived */
    uint32_t true_count;             /* bar.red */
};

struct frame_pool {
    struct frame *free[28]; /* by power of two */
    struct frame *newest;   /* all of them, through `older` */
    uint64_t bytes;         /* taken from the system */
};

struct fault {
    int err; /* 0: none */
    uint64_t addr;
    char text[160];
};

struct block {
    struct grid *grid;
    const struct grid_config *config;
    const struct code_kernel *kernel;
    uint32_t index[3];
    uint32_t warp_count, threads, live_threads;
    uint32_t next_warp; /* round robin */
    uint32_t slices;    /* that it was given */
    uint32_t slot;      /* which of the grid's contexts this is */
    struct warp_ctx *warps;
    unsigned char *shared;
    uint64_t shared_bytes, shared_room;
    void *local; /* mapped */
    uint64_t local_room;
    struct frame_pool frames;
    struct barrier barriers[BLOCK_BARRIERS];
    struct fault fault;
    struct block *next; /* in the grid's lists */
};

/* What the grid gives its blocks. */
const unsigned char *grid_params(const struct grid *g);
uint64_t grid_workspace(const struct grid *g);
#define GRID_WORKSPACE_BYTES 256
uint64_t grid_serial(const struct grid *g);
/* Counts frame memory of all blocks; false when the grid has had its share. */
bool grid_charge(struct grid *g, int64_t bytes);
bool grid_stopping(const struct grid *g);

/* ---- warp.c ---- */
enum warp_state { WARP_MORE, WARP_SPINS, WARP_BLOCKED, WARP_ENDED, WARP_FAULT };

/* Runs until every split waits, has ended, or the turn is over (`budget` in warp-instructions, of
 * which the used ones are taken off). */
enum warp_state warp_run(struct warp_ctx *x, int64_t *budget);
void warp_split_add(struct warp_ctx *x, struct frame *frame, int32_t pc, uint32_t mask,
                    enum split_state state, uint32_t bar);
/* Lanes end for good. */
void warp_lanes_exit(struct warp_ctx *x, struct frame *frame, uint32_t mask);

/* Reports a fault of `lane`; the first one of a block counts. `what` completes the sentence
 * "<opcode> at line <n> of <function>: ..."; NULL: the usual words for `err` and `addr`. */
void warp_fault(struct warp *w, const struct code_inst *i, uint32_t lane, int err, uint64_t addr,
                const char *what);

/* ---- frame.c ---- */
struct frame *frame_push(struct warp_ctx *x, const struct code_func *f, struct frame *parent,
                         const struct code_inst *call, uint32_t mask);
void frame_free(struct block *b, struct frame *f);
void frame_pool_finish(struct block *b);
/* Enters the callees of a call for `mask`, as splits. False after a fault. */
bool frame_call(struct warp_ctx *x, const struct code_inst *i, uint32_t mask);
/* Leaves the current frame for `mask`, as a split of the caller. */
void frame_return(struct warp_ctx *x, struct frame *f, uint32_t mask);
/* Address of a lane's byte of a frame's local memory. */
static inline unsigned char *frame_local(const struct warp_ctx *x, const struct frame *f,
                                         uint32_t lane, uint32_t offset) {
    return (unsigned char *)(uintptr_t)(x->local_base + lane * x->local_stride + f->local_offset +
                                        offset);
}

/* ---- bar.c ---- */
/* `mask` lanes of the running split arrive; false: they wait (a split was added). */
bool bar_arrive(struct warp_ctx *x, const struct code_inst *i, int32_t pc, uint32_t mask);
void bar_lanes_gone(struct block *b);

/* ---- rendezvous.c ---- */
bool rendezvous_is(const struct code_inst *i);
/* Meets at once when everybody is here; false: they wait (a split was added). */
bool rendezvous_arrive(struct warp_ctx *x, const struct code_inst *i, int32_t pc, uint32_t mask);
/* Completes what can be completed; `lenient`: also one meeting whose missing lanes will never come.
 * True when some lanes became runnable. */
bool rendezvous_resolve(struct warp_ctx *x, bool lenient);
code_handler *rendezvous_select(const struct code_inst *i);

/* ---- devrt.c ---- */
void devrt_call(struct warp *w, const struct code_inst *i, uint32_t mask);

/* ---- mem.c ---- */
/* Checks one access of a lane at a generic address, slowly. */
bool mem_lane_ok(struct warp_ctx *x, uint32_t lane, uint64_t addr, uint64_t bytes, bool write);
/* The same for all lanes of `mask`, after the quick check failed: finds the faulty one, or moves
 * the cached range; and says in x->global which of them touch global memory. False after a fault.
 */
bool mem_check(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, const uint64_t *at,
               uint32_t bytes, bool write);

/* Addresses of the lanes of `mask` for an access of `bytes` bytes a lane, in any space, checked.
 * False after a fault; x->global as by mem_check. `at` is aligned to 64; lanes outside the mask get
 * no meaningful address. */
bool mem_resolve(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint32_t bytes,
                 bool write, uint64_t *at);

/* Counts the sectors that the lanes of x->global touch. */
void mem_count(struct warp_ctx *x, const uint64_t *at);
/* Accesses that hit `window` count as traffic of global memory. */
static inline bool mem_counted(const struct warp_ctx *x, const struct code_inst *i,
                               const struct range *window) {
    return window->lo != x->shared_base && !(i->target & CODE_CONSTANT);
}

/* ---- block.c ---- */
enum block_state { BLOCK_MORE, BLOCK_SPINS, BLOCK_ENDED };
/* A context that can run blocks of the grid one after the other; NULL when out of memory. */
struct block *block_create(struct grid *g, const struct grid_config *config, uint32_t slot);
void block_destroy(struct block *b);
void block_begin(struct block *b, uint64_t linear_index);
/* BLOCK_ENDED: also after a fault. BLOCK_SPINS: all it can do is wait for another block. */
enum block_state block_run(struct block *b, int64_t *budget);
/* Bytes of memory that a context may come to hold, recursion aside. */
uint64_t block_bytes(const struct grid_config *config);

#endif
