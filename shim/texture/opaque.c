/* SPDX-License-Identifier: Apache-2.0
 *
 * Most programs have no such array: for them a lookup costs one load.
 */
#include "shim/texture/opaque.h"

#include <pthread.h>

#include "common/atomics.h"
#include "proto/cuda/array_layout.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"
#include "shim/memory/spans.h"

static struct spans places;
static _Atomic uint32_t known;
static pthread_mutex_t opaque_lock = PTHREAD_MUTEX_INITIALIZER;

static int remember(uint64_t addr, uint64_t bytes) {
    lock_enter(&opaque_lock);
    int err = spans_add(&places, &(struct span){.addr = addr, .bytes = bytes});
    atom_store_relaxed(&known, places.count);
    lock_leave(&opaque_lock);
    return err;
}

/* Removes a range and returns its length. */
static uint64_t forget(uint64_t addr) {
    lock_enter(&opaque_lock);
    const struct span *s = spans_find(&places, addr);
    uint64_t bytes = s ? s->bytes : 0;
    if (s) spans_remove(&places, (uint32_t)(s - places.items), 1);
    atom_store_relaxed(&known, places.count);
    lock_leave(&opaque_lock);
    return bytes;
}

static struct wire_array record_of(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels,
                                   uint64_t addr) {
    return (struct wire_array){.rec = {.op = WIRE_ARRAY_MAKE},
                               .addr = addr,
                               .width = (uint32_t)d->Width,
                               .height = (uint32_t)d->Height,
                               .depth = (uint32_t)d->Depth,
                               .levels = levels,
                               .format = (uint32_t)d->Format,
                               .channels = d->NumChannels,
                               .flags = d->Flags};
}

/* Asks the worker for the array. Meanwhile its memory counts against the credit in whole granules,
 * as a block's does. */
static CUresult ask(struct wire_array *rec, uint64_t charge) {
    uint64_t granule = state.conn.device.granularity_bytes;
    uint64_t whole = (charge + granule - 1) / granule * granule;
    struct reply answer = {0};
    mem_tell_all(); /* memory freed before makes room */
    mem_segment_ask(MEM_PERSISTENT, whole);
    CUresult r = reply_call(rec, sizeof(*rec), NULL, 0, &answer);
    mem_segment_told(MEM_PERSISTENT, whole, false);
    if (r && answer.bytes) refuse_memory(charge, (const char *)answer.data, answer.bytes);
    return r;
}

CUresult opaque_make(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels, uint64_t bytes,
                     uint64_t *addr) {
    uint64_t charge = array_layout_charge(bytes);
    if (mem_is_beyond(charge)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = mem_reserve(MEM_PERSISTENT, bytes, 0, 0, addr);
    if (r) return r;
    struct wire_array rec = record_of(d, levels, *addr);
    r = remember(*addr, bytes) ? CUDA_ERROR_OUT_OF_MEMORY : ask(&rec, charge);
    if (!r) {
        mem_count_array(charge, true);
        return CUDA_SUCCESS;
    }
    forget(*addr);
    mem_unreserve(*addr, bytes);
    return r;
}

/* Drops an array. Its addresses can be reused once the worker has been told. */
void opaque_drop(uint64_t addr) {
    struct wire_array_drop rec = {.rec = {.op = WIRE_ARRAY_DROP}, .addr = addr};
    uint64_t bytes = forget(addr);
    if (!bytes) return;
    submit_record(&rec, sizeof(rec), NULL, 0);
    mem_count_array(array_layout_charge(bytes), false);
    mem_unreserve(addr, bytes);
}

bool opaque_has(uint64_t addr, uint64_t bytes) {
    if (!atom_load_relaxed(&known)) return false;
    lock_enter(&opaque_lock);
    const struct span *s = spans_find(&places, addr);
    bool has = s && bytes <= s->bytes - (addr - s->addr);
    lock_leave(&opaque_lock);
    return has;
}
