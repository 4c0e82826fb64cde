/* SPDX-License-Identifier: Apache-2.0
 *
 * A grid on the host: blocks run one after the other, and each thread of a block is a fiber that
 * runs until it waits for others. If a kernel relies on something undefined (lanes that do not
 * meet, barriers that not all threads reach), the program ends with status 3: a fault of the
 * generator, not of the device.
 */
#ifndef TEST_RANDOM_MODEL_H
#define TEST_RANDOM_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

struct dim {
    u32 x, y, z;
};

struct alignas(4) uchar4 {
    u8 x, y, z, w;
};
struct alignas(8) int2 {
    i32 x, y;
};
struct alignas(8) short4 {
    i16 x, y, z, w;
};
struct alignas(16) uint4 {
    u32 x, y, z, w;
};
struct alignas(16) longlong2 {
    i64 x, y;
};
struct alignas(16) float4 {
    f32 x, y, z, w;
};

#define MODEL_THREADS 1024
#define MODEL_STACK (256u << 10)
#define MODEL_SHARED_WORDS 4096

enum model_state { MODEL_READY, MODEL_MEET, MODEL_BARRIER, MODEL_OVER };

struct model_thread {
    ucontext_t context;
    dim index;
    model_state state;
    u32 lane, mask, what; /* `what`: the operation in which the fiber waits */
    u64 value;
    u64 inbox[32]; /* value that each lane of the mask contributed */
    u32 total;     /* result of the barrier's vote */
};

static model_thread model_threads[MODEL_THREADS];
static model_thread *model_now;
static ucontext_t model_home;
static u32 model_count;
static char *model_stacks;
static void (*model_body)(void);
static dim blockIdx, blockDim, gridDim;
static u64 dynamic_shared[MODEL_SHARED_WORDS];
#define threadIdx (model_now->index)

static void model_fault(const char *what) {
    fprintf(stderr, "model: %s\n", what);
    exit(3);
}

static void model_wait(void) {
    swapcontext(&model_now->context, &model_home);
}

/* Returns the values that the lanes of `mask` passed to the same operation, by lane. */
static const u64 *model_meet(u32 mask, u64 value, u32 what) {
    model_thread *me = model_now, *warp = me - me->lane;
    if (!(mask >> me->lane & 1)) model_fault("a lane is not in its own mask");
    me->mask = mask;
    me->value = value;
    me->what = what;
    me->state = MODEL_MEET;
    u32 here = 0;
    for (u32 l = 0; l < 32 && warp + l < model_threads + model_count; l++)
        if (warp[l].state == MODEL_MEET && warp[l].mask == mask && warp[l].what == what)
            here |= 1u << l;
    for (u32 l = 0; (here & mask) == mask && l < 32; l++) {
        if (!(mask >> l & 1)) continue;
        for (u32 k = 0; k < 32; k++)
            warp[l].inbox[k] = mask >> k & 1 ? warp[k].value : 0;
        warp[l].state = MODEL_READY;
    }
    if (me->state != MODEL_READY) model_wait();
    return me->inbox;
}

/* The number of threads of the block that passed true. */
static u32 model_barrier(bool predicate) {
    model_now->value = predicate;
    model_now->state = MODEL_BARRIER;
    model_wait();
    return model_now->total;
}

/* Called when no thread can run: either all are at the barrier, or the program is wrong. */
static bool model_open_barrier(void) {
    u32 waiting = 0, over = 0, total = 0;
    for (u32 k = 0; k < model_count; k++) {
        waiting += model_threads[k].state == MODEL_BARRIER;
        over += model_threads[k].state == MODEL_OVER;
        total += model_threads[k].state == MODEL_BARRIER && model_threads[k].value;
    }
    if (over == model_count) return false;
    if (waiting != model_count) model_fault("threads wait for others that never come");
    for (u32 k = 0; k < model_count; k++) {
        model_threads[k].total = total;
        model_threads[k].state = MODEL_READY;
    }
    return true;
}

static void model_fiber(void) {
    model_body();
    model_now->state = MODEL_OVER;
    model_wait();
}

static void model_block(void) {
    model_count = blockDim.x * blockDim.y * blockDim.z;
    for (u32 k = 0; k < model_count; k++) {
        model_thread *m = &model_threads[k];
        m->index = {k % blockDim.x, k / blockDim.x % blockDim.y, k / blockDim.x / blockDim.y};
        m->lane = k & 31;
        m->state = MODEL_READY;
        getcontext(&m->context);
        m->context.uc_stack.ss_sp = model_stacks + (size_t)k * MODEL_STACK;
        m->context.uc_stack.ss_size = MODEL_STACK;
        m->context.uc_link = NULL;
        makecontext(&m->context, model_fiber, 0);
    }
    do {
        for (u32 ran = 1; ran;) {
            ran = 0;
            for (u32 k = 0; k < model_count; k++) {
                if (model_threads[k].state != MODEL_READY) continue;
                model_now = &model_threads[k];
                swapcontext(&model_home, &model_now->context);
                ran++;
            }
        }
    } while (model_open_barrier());
}

static void model_grid(const dim &grid, const dim &block, void (*body)(void)) {
    if (!model_stacks)
        model_stacks =
            (char *)mmap(NULL, (size_t)MODEL_THREADS * MODEL_STACK, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    model_body = body;
    gridDim = grid;
    blockDim = block;
    for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++)
                model_block();
}

#endif
