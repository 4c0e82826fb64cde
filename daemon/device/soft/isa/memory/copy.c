/* SPDX-License-Identifier: Apache-2.0
 *
 * cp.async: copies 4, 8 or 16 bytes per lane from global to shared memory. The copy is done at
 * once, so that waiting for it does nothing. The addresses of all lanes are checked together, like
 * those of loads and stores. Lanes that copy fewer bytes than the instruction says, and fill up
 * with zeros, go one by one.
 *
 * Instruction fields: a and offset are the destination, as for a store; b is a generic source
 * address; d_bytes is the size; c is the number of bytes to read; e is a predicate of lanes that
 * read nothing.
 */
#include "daemon/device/soft/isa/memory/copy.h"

#include <string.h>

#include "daemon/device/soft/isa/memory/element.h"
#include "daemon/device/soft/memory/mem.h"
#include "daemon/device/soft/memory/sectors.h"

#define CTX(w) ((struct warp_ctx *)(w))

/* True if the addresses of all `mask` lanes are inside [lo, lo + size) and aligned. */
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

/* Computes the address to which each lane copies. */
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

/* Checks the source addresses, and records in x->global the lanes that read global memory. */
static inline bool from_global(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                               const uint64_t *from) {
    const struct range *window = &x->windows[CODE_WINDOW(i)];
    x->global = mask && mem_counted(x, i, window) ? mask : 0;
    return !mask || all_inside(from, mask, i->d_bytes, window->lo, window->hi - window->lo) ||
           mem_check(x, i, mask, from, i->d_bytes, false);
}

typedef uint64_t copy_16 __attribute__((vector_size(16), may_alias));

#define COPY(type) ELEMENT_LOOP(mask, ELEMENT(type, to[l]) = ELEMENT(const type, from[l]);) break

/* Each lane's copy is a single move; isa/memory/vector.c explains why. */
ELEMENT_CLIENT static inline void move(uint32_t bytes, uint32_t mask, const uint64_t *to,
                                       const uint64_t *from) {
    switch (bytes) {
    case 4: COPY(element_u32);
    case 8: COPY(element_u64);
    default: COPY(copy_16);
    }
}

/* Returns the number of bytes that lane `l` reads. */
static inline uint32_t count_of(const struct warp *w, const struct code_inst *i, unsigned l) {
    if (i->c != CODE_NO_SLOT) {
        const uint32_t count = SLOT(const uint32_t, w, i->c)[l];
        return count < i->d_bytes ? count : i->d_bytes;
    }
    return (code_pred(w, i->e) >> l & 1) != i->c_neg ? 0 : i->d_bytes;
}

/* Returns the lanes that copy the full size. */
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
