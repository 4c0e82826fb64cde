/* SPDX-License-Identifier: Apache-2.0
 *
 * cp.async: 4, 8 or 16 bytes a lane from global to shared memory, done at once, so that waiting for
 * it is nothing. The addresses of all lanes are checked together, like those of a load and a store;
 * lanes that copy less than they say, and fill up with zeros, go one by one.
 *
 * Fields: a and offset say where to, as for a store; b is a generic address; d_bytes the bytes; c
 * how many to read; e a predicate of lanes that read nothing.
 */
#include "daemon/device/soft/isa/memory/copy.h"

#include <string.h>

#include "daemon/device/soft/isa/memory/element.h"
#include "daemon/device/soft/memory/mem.h"
#include "daemon/device/soft/memory/sectors.h"

#define CTX(w) ((struct warp_ctx *)(w))

/* Whether lanes of `mask` are inside [lo, lo + size) and aligned. */
static inline bool all_inside(const uint64_t *at, uint32_t mask, uint64_t bytes, uint64_t lo,
                              uint64_t size) {
    const uint64_t room = size - bytes, low = bytes - 1;
    uint64_t bad = size < bytes;
    if (mask == ISA_FULL) {
        for (unsigned l = 0; l < WARP_LANES; l++)
            bad |= (uint64_t)(at[l] - lo > room) | (at[l] & low);
        return !bad;
    }
    for (unsigned l = 0; l < WARP_LANES; l++)
        bad |= ((uint64_t)(at[l] - lo > room) | (at[l] & low)) & (0 - (uint64_t)(mask >> l & 1));
    return !bad;
}

/* Where each lane copies to. */
static inline bool to_shared(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                             uint64_t *to) {
    if (i->a == CODE_NO_SLOT || i->a_bytes != 4)
        return mem_resolve(x, i, mask, i->d_bytes, true, to);
    const uint32_t *a = SLOT(const uint32_t, &x->w, i->a);
    for (unsigned l = 0; l < WARP_LANES; l++)
        to[l] = x->shared_base + (uint32_t)(a[l] + (uint32_t)i->offset);
    return all_inside(to, mask, i->d_bytes, x->shared_base, x->shared_bytes) ||
           mem_resolve(x, i, mask, i->d_bytes, true, to);
}

/* Says in x->global which lanes read global memory. */
static inline bool from_global(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                               const uint64_t *from) {
    const struct range *window = &x->windows[CODE_WINDOW(i)];
    x->global = mask && mem_counted(x, i, window) ? mask : 0;
    return !mask || all_inside(from, mask, i->d_bytes, window->lo, window->hi - window->lo) ||
           mem_check(x, i, mask, from, i->d_bytes, false);
}

typedef uint64_t copy_16 __attribute__((vector_size(16), may_alias));

#define COPY(type) ELEMENT_LOOP(mask, ELEMENT(type, to[l]) = ELEMENT(const type, from[l]);) break

/* A lane's copy moves at once, as isa/memory/vector.c explains. */
ELEMENT_CLIENT static inline void move(uint32_t bytes, uint32_t mask, const uint64_t *to,
                                       const uint64_t *from) {
    switch (bytes) {
    case 4: COPY(element_u32);
    case 8: COPY(element_u64);
    default: COPY(copy_16);
    }
}

/* Bytes that lane `l` reads. */
static inline uint32_t count_of(const struct warp *w, const struct code_inst *i, unsigned l) {
    if (i->c != CODE_NO_SLOT) {
        const uint32_t count = SLOT(const uint32_t, w, i->c)[l];
        return count < i->d_bytes ? count : i->d_bytes;
    }
    return (code_pred(w, i->e) >> l & 1) != i->c_neg ? 0 : i->d_bytes;
}

/* Lanes that copy all they can. */
static uint32_t whole_lanes(const struct warp *w, const struct code_inst *i, uint32_t mask) {
    uint32_t whole = 0;
    if (i->c == CODE_NO_SLOT && i->e == CODE_NO_SLOT) return mask;
    ELEMENT_LOOP(mask, whole |= (uint32_t)(count_of(w, i, l) == i->d_bytes) << l;)
    return whole;
}

ISA_HANDLER(run_async) {
    struct warp_ctx *x = CTX(w);
    uint64_t to[WARP_LANES] __attribute__((aligned(64)));
    const uint64_t *from = SLOT(const uint64_t, w, i->b);
    const uint32_t whole = whole_lanes(w, i, mask);
    if (!to_shared(x, i, mask, to) || !from_global(x, i, whole, from)) return;
    move(i->d_bytes, whole, to, from);
    ELEMENT_LOOP(mask & ~whole,
                 if (!mem_copy_part(x, i, l, to[l], from[l], count_of(w, i, l))) return;)
    if (x->global) x->sectors += sectors_count(from, x->global);
}

ISA_FAMILY(copy_select) {
    (void)i;
    return run_async;
}
