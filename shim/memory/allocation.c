/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of allocations.
 */
#include "shim/memory/allocation.h"

#include <pthread.h>
#include <string.h>

#include "common/err.h"
#include "proto/wire/wire.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/memory/identity.h"
#include "shim/memory/mem.h"
#include "shim/memory/pool.h"
#include "shim/table.h"

struct allocation {
    CUmemGenericAllocationHandle handle; /* 0 while the number is free */
    uint32_t refs, shown;                /* holders of the handle; address ranges that map it */
    uint64_t bytes;
    uint64_t key[2]; /* zeros: never requested */
    uint64_t id;     /* never the same for two allocations */
    unsigned int types;
    uint16_t generation;
    enum mem_window window; /* the window whose credit it counts against */
    bool busy;              /* a request to the worker is in flight */
};

static struct allocation allocations[WIRE_SEGMENTS];
static uint32_t limit; /* numbers from here on were never used */
static pthread_mutex_t allocation_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- numbers; with the lock held ------------------------------------------------------------- */

static uint32_t take_number(void) {
    uint32_t i = 0;
    while (i < limit && (allocations[i].handle || allocations[i].busy))
        i++;
    uint32_t most = table_most(WIRE_SEGMENTS, WIRE_SEGMENTS_FIRST);
    if (i >= most) refuse_more(REFUSE_SEGMENTS, most);
    if (i >= most) return WIRE_SEGMENTS;
    if (i == limit) limit++;
    allocations[i].busy = true;
    return i;
}

static struct allocation *find(CUmemGenericAllocationHandle handle) {
    uint32_t i = handle_index(HANDLE_ALLOCATION, (void *)(uintptr_t)handle);
    if (i >= limit || allocations[i].handle != handle || !allocations[i].refs) return NULL;
    return &allocations[i];
}

static uint32_t number_of(const struct allocation *a) {
    return (uint32_t)(a - allocations);
}

static void end_if_unused(struct allocation *a) {
    if (a->refs || a->shown) return;
    mem_segment_close(a->window, number_of(a), a->bytes);
    a->handle = 0;
}

/* Finds an allocation that this process has already. */
static struct allocation *find_key(const uint64_t *key) {
    for (uint32_t i = 0; i < limit; i++) {
        struct allocation *a = &allocations[i];
        if (a->handle && a->key[0] == key[0] && a->key[1] == key[1]) return a;
    }
    return NULL;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Sends the request. `last`: report a limit that refuses it. */
static CUresult ask(struct wire_segment *rec, struct wire_segment_reply *out, bool last) {
    struct reply answer = {0};
    mem_tell_all();
    CUresult r = reply_call(rec, sizeof(*rec), NULL, 0, &answer);
    if (last && r == CUDA_ERROR_OUT_OF_MEMORY && answer.bytes)
        refuse_memory(rec->bytes, (const char *)answer.data, answer.bytes);
    if (!r && out) memcpy(out, answer.data, sizeof(*out));
    return r;
}

/* Asks, and once more after giving back the memory that pools and windows have in reserve. */
static CUresult ask_twice(const struct wire_segment *rec, struct wire_segment_reply *out) {
    struct wire_segment first = *rec, second = *rec;
    CUresult r = ask(&first, out, false);
    if (r != CUDA_ERROR_OUT_OF_MEMORY) return r;
    pool_reclaim_all();
    mem_trim();
    return ask(&second, out, true);
}

static uint32_t begin(void) {
    lock_enter(&allocation_lock);
    uint32_t number = take_number();
    lock_leave(&allocation_lock);
    return number;
}

/* Makes the number an allocation's, or frees it. */
static CUmemGenericAllocationHandle settle(uint32_t number, CUresult r, uint64_t bytes,
                                           const uint64_t *key, unsigned int types) {
    struct allocation *a = &allocations[number];
    lock_enter(&allocation_lock);
    a->busy = false;
    if (!r) {
        a->refs = 1;
        a->shown = 0;
        a->bytes = bytes;
        a->types = types;
        a->id = identity_next();
        a->key[0] = key[0];
        a->key[1] = key[1];
        a->handle = handle_make(HANDLE_ALLOCATION, ++a->generation, number);
    }
    CUmemGenericAllocationHandle handle = a->handle;
    lock_leave(&allocation_lock);
    return handle;
}

CUresult allocation_make(enum mem_window window, uint64_t bytes, unsigned int types,
                         CUmemGenericAllocationHandle *handle) {
    static const uint64_t none[2];
    uint32_t number = begin();
    if (number == WIRE_SEGMENTS) return CUDA_ERROR_OUT_OF_MEMORY;
    struct wire_segment rec = {.rec = {.op = WIRE_MEM_MAKE},
                               .segment = number,
                               .ephemeral = window == MEM_EPHEMERAL,
                               .bytes = bytes};
    mem_segment_ask(window, bytes);
    CUresult r = ask_twice(&rec, NULL);
    mem_segment_told(window, bytes, !r);
    allocations[number].window = window; /* no other thread uses the number until it is settled */
    CUmemGenericAllocationHandle made = settle(number, r, bytes, none, types);
    if (!r) *handle = made;
    return r;
}

static bool retain_key(const uint64_t *key, CUmemGenericAllocationHandle *handle) {
    lock_enter(&allocation_lock);
    struct allocation *a = find_key(key);
    if (a) {
        a->refs++;
        *handle = a->handle;
    }
    lock_leave(&allocation_lock);
    return a != NULL;
}

CUresult allocation_open(const uint64_t *key, unsigned int types,
                         CUmemGenericAllocationHandle *handle) {
    if (!key[0] && !key[1]) return CUDA_ERROR_NOT_FOUND;
    if (retain_key(key, handle)) return CUDA_SUCCESS;
    uint32_t number = begin();
    if (number == WIRE_SEGMENTS) return CUDA_ERROR_OUT_OF_MEMORY;
    struct wire_segment rec = {
        .rec = {.op = WIRE_MEM_OPEN}, .segment = number, .key = {key[0], key[1]}};
    struct wire_segment_reply got = {.bytes = 0};
    CUresult r = ask_twice(&rec, &got);
    if (!r) mem_segment_ask(MEM_PERSISTENT, got.bytes);
    if (!r) mem_segment_told(MEM_PERSISTENT, got.bytes, true);
    allocations[number].window = MEM_PERSISTENT;
    CUmemGenericAllocationHandle made = settle(number, r, got.bytes, key, types);
    if (!r) *handle = made;
    return r;
}

/* True when the key is known: it was requested before, or the allocation was opened by it. */
static bool known_key(CUmemGenericAllocationHandle handle, uint64_t *key) {
    lock_enter(&allocation_lock);
    const struct allocation *a = find(handle);
    bool known = a && (a->key[0] || a->key[1]);
    if (known) memcpy(key, a->key, sizeof(a->key));
    lock_leave(&allocation_lock);
    return known;
}

CUresult allocation_key(CUmemGenericAllocationHandle handle, uint64_t *key) {
    struct allocation_info info;
    if (known_key(handle, key)) return CUDA_SUCCESS;
    if (!allocation_look(handle, &info)) return CUDA_ERROR_INVALID_VALUE;
    struct wire_segment rec = {.rec = {.op = WIRE_MEM_EXPORT}, .segment = info.segment};
    struct wire_segment_reply got;
    CUresult r = ask(&rec, &got, true);
    if (r) return r;
    lock_enter(&allocation_lock);
    struct allocation *a = find(handle);
    if (a) memcpy(a->key, got.key, sizeof(a->key));
    lock_leave(&allocation_lock);
    memcpy(key, got.key, sizeof(got.key));
    return CUDA_SUCCESS;
}

void allocation_know(uint32_t segment, const uint64_t *key) {
    lock_enter(&allocation_lock);
    memcpy(allocations[segment].key, key, sizeof(allocations[segment].key));
    lock_leave(&allocation_lock);
}

/* ---- holders --------------------------------------------------------------------------------- */

static struct allocation_info describe(const struct allocation *a) {
    return (struct allocation_info){number_of(a), a->bytes, a->types, a->id};
}

bool allocation_look(CUmemGenericAllocationHandle handle, struct allocation_info *out) {
    lock_enter(&allocation_lock);
    const struct allocation *a = find(handle);
    if (a) *out = describe(a);
    lock_leave(&allocation_lock);
    return a != NULL;
}

bool allocation_release(CUmemGenericAllocationHandle handle) {
    lock_enter(&allocation_lock);
    struct allocation *a = find(handle);
    if (a) {
        a->refs--;
        end_if_unused(a);
    }
    lock_leave(&allocation_lock);
    mem_tell();
    return a != NULL;
}

bool allocation_show(CUmemGenericAllocationHandle handle, struct allocation_info *out) {
    lock_enter(&allocation_lock);
    struct allocation *a = find(handle);
    if (a) {
        a->shown++;
        *out = describe(a);
    }
    lock_leave(&allocation_lock);
    return a != NULL;
}

void allocation_hide(uint32_t segment) {
    struct allocation *a = &allocations[segment];
    lock_enter(&allocation_lock);
    a->shown--;
    end_if_unused(a);
    lock_leave(&allocation_lock);
}

CUmemGenericAllocationHandle allocation_retain(uint32_t segment) {
    struct allocation *a = &allocations[segment];
    lock_enter(&allocation_lock);
    a->refs++;
    CUmemGenericAllocationHandle handle = a->handle;
    lock_leave(&allocation_lock);
    return handle;
}

unsigned int allocation_types(uint32_t segment) {
    return allocations[segment].types;
}
