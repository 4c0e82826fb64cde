/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/dev/provision.h"

#include <errno.h>
#include <stdlib.h>

#include "common/err.h"
#include "daemon/device/soft/dev/space.h"
#include "daemon/device/soft/runtime/heap.h"
#include "daemon/device/soft/runtime/runtime.h"
#include "proto/cuda/cuda_abi.h"

/* CUDA's default limits. */
#define FIRST_HEAP_BYTES (8ull << 20)
#define FIRST_PENDING 2048u
#define FIRST_STACK_BYTES 1024u
#define FIRST_TEXT_BYTES (1u << 20)

struct provision *provision_create(struct dev_space *space, const struct dev_info *info) {
    struct provision *p = calloc(1, sizeof(*p));
    if (!p) return NULL;
    *p = (struct provision){.space = space,
                            .info = info,
                            .heap_bytes = FIRST_HEAP_BYTES,
                            .pending = FIRST_PENDING,
                            .stack_bytes = FIRST_STACK_BYTES,
                            .text_bytes = FIRST_TEXT_BYTES};
    list_init(&p->heap_block);
    list_init(&p->runtime_block);
    return p;
}

static uint64_t whole_granules(uint64_t bytes) {
    return (bytes + CHUNK_BYTES - 1) & ~(uint64_t)(CHUNK_BYTES - 1);
}

/* ---- heap ------------------------------------------------------------------------------------ */

static bool find_heap(struct provision *p, uint64_t bytes) {
    uint64_t lo = space_module_alloc(p->space, bytes, CHUNK_BYTES, &p->heap_block);
    if (!lo) return false;
    p->heap_lo = lo;
    p->heap_room = bytes;
    return true;
}

static int make_heap(struct provision *p) {
    if (!find_heap(p, p->heap_bytes)) return ERR_NO_MEMORY;
    p->heap = heap_create(p->heap_lo, p->heap_lo + p->heap_bytes);
    if (p->heap) return 0;
    space_module_free(p->space, &p->heap_block);
    return -ENOMEM;
}

int provision_take_heap(struct provision *p) {
    int err = p->heap ? 0 : make_heap(p);
    p->heap_users += !err;
    return err;
}

void provision_give_heap(struct provision *p) {
    if (--p->heap_users || !heap_unused(p->heap)) return;
    heap_destroy(p->heap);
    p->heap = NULL;
    space_module_free(p->space, &p->heap_block);
}

/* Returns why the space cannot be restored, or NULL. Only this process knows which bytes of the
 * heap are allocated. */
const char *provision_unrestorable(const struct provision *p) {
    return p->heap && heap_touched(p->heap) ? "kernels of the job hold memory from malloc()" : NULL;
}

/* ---- the device runtime ---------------------------------------------------------------------- */

static struct runtime_facts facts_of(const struct provision *p) {
    const struct dev_info *i = p->info;
    return (struct runtime_facts){
        .sm = {.threads = i->threads_per_sm,
               .blocks = i->blocks_per_sm,
               .regs = i->regs_per_sm,
               .shared_bytes = i->shared_per_sm_bytes,
               .shared_reserved_bytes = i->shared_reserved_bytes,
               .shared_optin_bytes = i->shared_optin_bytes,
               .shared_unit = occupancy_shared_unit(i->cc_major)},
        .sm_count = i->sm_count,
        .capability = p->space->config.capability,
        .shared_per_block_bytes = i->shared_per_block_bytes,
        .clock_khz = i->clock_khz,
        .mem_clock_khz = i->mem_clock_khz,
        .mem_bus_bits = i->mem_bus_bits,
        .l2_bytes = i->l2_bytes,
    };
}

/* Passes the limits to the runtime, which reports them to kernels. */
static void tell_limits(const struct provision *p) {
    const struct runtime_limits limits = {p->stack_bytes, p->text_bytes, p->heap_bytes, p->pending};
    if (p->runtime) runtime_set_limits(p->runtime, &limits);
}

static int make_runtime(struct provision *p) {
    uint64_t bytes = whole_granules(runtime_room(p->pending));
    struct runtime *r = calloc(1, sizeof(*r));
    if (!r) return -ENOMEM;
    uint64_t lo = space_module_alloc(p->space, bytes, CHUNK_BYTES, &p->runtime_block);
    r->facts = facts_of(p);
    int err = lo ? runtime_init(r, lo, lo + bytes) : ERR_NO_MEMORY;
    if (err) {
        space_module_free(p->space, &p->runtime_block);
        free(r);
        return err;
    }
    p->runtime = r;
    p->runtime_bytes = bytes;
    tell_limits(p);
    return 0;
}

int provision_take_runtime(struct provision *p) {
    int err = p->runtime ? 0 : make_runtime(p);
    p->runtime_users += !err;
    return err;
}

static void free_runtime(struct provision *p) {
    if (p->runtime) runtime_finish(p->runtime);
    free(p->runtime);
    p->runtime = NULL;
}

void provision_give_runtime(struct provision *p) {
    if (--p->runtime_users) return;
    free_runtime(p);
    space_module_free(p->space, &p->runtime_block);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Sets the heap limit of a heap that is still untouched. If its memory is too small it gets other
 * memory. */
static int limit_heap(struct provision *p, uint64_t bytes) {
    if (!bytes) return -EINVAL;
    if (bytes > p->space->windows.module_bytes) return ERR_NO_MEMORY;
    if (p->heap && bytes != p->heap_bytes) {
        if (heap_touched(p->heap)) return -EINVAL;
        if (bytes > p->heap_room && !find_heap(p, bytes)) return ERR_NO_MEMORY;
        heap_extend(p->heap, p->heap_lo, p->heap_lo + bytes);
    }
    p->heap_bytes = bytes;
    return 0;
}

/* Bytes of new memory that the runtime needs for this many pending launches; 0: none. At least
 * doubles the size, so that many small increases do not add up. */
static uint64_t more_runtime(const struct provision *p, uint64_t pending) {
    uint64_t bytes = whole_granules(runtime_room((uint32_t)pending));
    if (!p->runtime || bytes <= p->runtime_bytes) return 0;
    return bytes < 2 * p->runtime_bytes ? 2 * p->runtime_bytes : bytes;
}

static int limit_pending(struct provision *p, uint64_t pending) {
    if (pending > UINT32_MAX || runtime_room((uint32_t)pending) > p->space->windows.module_bytes)
        return ERR_NO_MEMORY;
    uint64_t more = more_runtime(p, pending);
    if (more) {
        uint64_t lo = space_module_alloc(p->space, more, CHUNK_BYTES, &p->runtime_block);
        if (!lo) return ERR_NO_MEMORY;
        runtime_extend(p->runtime, lo, lo + more);
        p->runtime_bytes = more;
    }
    p->pending = (uint32_t)pending;
    return 0;
}

int provision_limit(struct provision *p, uint32_t limit, uint64_t value) {
    int err = 0;
    switch (limit) {
    case CU_LIMIT_STACK_SIZE: p->stack_bytes = value; break;
    case CU_LIMIT_PRINTF_FIFO_SIZE: p->text_bytes = value; break;
    case CU_LIMIT_MALLOC_HEAP_SIZE: err = limit_heap(p, value); break;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: err = limit_pending(p, value); break;
    default: return -EINVAL;
    }
    tell_limits(p);
    return err;
}

uint64_t provision_limit_bytes(const struct provision *p, uint32_t limit, uint64_t value) {
    if (value > p->space->windows.module_bytes) return 0; /* the limit will be refused */
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE)
        return p->heap && value > p->heap_room ? whole_granules(value) : 0;
    if (limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) return more_runtime(p, value);
    return 0;
}

void provision_destroy(struct provision *p) {
    if (!p) return;
    free_runtime(p);
    heap_destroy(p->heap);
    space_module_free(p->space, &p->runtime_block);
    space_module_free(p->space, &p->heap_block);
    free(p);
}
