/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red. Blocks of one grid run on several threads, and host memory is shared with the
 * client's process; so all memory except shared and local memory needs the processor's atomic
 * instructions. Operations that the processor lacks are built from compare-and-swap. Lanes go one
 * after the other, except that an integer sum at one address is added at once.
 */
#include <string.h>

#include "common/atomics.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/real.h"
#include "daemon/device/soft/memory/atomic_access.h"
#include "daemon/device/soft/memory/mem.h"

/* ---- new values --------------------------------------------------------------------------------
 */

static uint32_t add_float(uint32_t x, uint32_t y, bool ftz) {
    float a = half_float_of_bits(x), b = half_float_of_bits(y);
    if (ftz) a = real_flush(a), b = real_flush(b);
    const float v = real_nan32(a + b);
    return half_bits_of_float(ftz ? real_flush(v) : v);
}

static uint64_t add_double(uint64_t x, uint64_t y) {
    double a, b;
    memcpy(&a, &x, sizeof(a));
    memcpy(&b, &y, sizeof(b));
    a += b;
    memcpy(&x, &a, sizeof(x));
    return x;
}

static uint16_t op_half(uint32_t type, uint32_t sub, uint16_t x, uint16_t y) {
    bool brain = type == PTX_BF16 || type == PTX_BF16X2;
    double a = brain ? half_from_bf16(x) : half_from_f16(x);
    double b = brain ? half_from_bf16(y) : half_from_f16(y);
    double v = a + b;
    if (sub == PTX_SUB_MIN || sub == PTX_SUB_MAX) {
        if (a != a) return y;
        if (b != b) return x;
        return (sub == PTX_SUB_MIN ? a < b : a > b) ? x : y;
    }
    return brain ? half_to_bf16(v) : half_to_f16(v);
}

static uint32_t result32(const struct code_inst *i, uint32_t old, uint32_t b, uint32_t c) {
    switch (i->sub) {
    case PTX_SUB_ADD:
        if (i->type == PTX_F32) return add_float(old, b, i->mods & PTX_MOD_FTZ);
        if (i->type == PTX_F16X2 || i->type == PTX_BF16X2) break;
        return old + b;
    case PTX_SUB_AND: return old & b;
    case PTX_SUB_OR: return old | b;
    case PTX_SUB_XOR: return old ^ b;
    case PTX_SUB_MIN:
    case PTX_SUB_MAX:
        if (i->type == PTX_F16X2 || i->type == PTX_BF16X2) break;
        if (i->type == PTX_S32)
            return ((int32_t)old < (int32_t)b) == (i->sub == PTX_SUB_MIN) ? old : b;
        return (old < b) == (i->sub == PTX_SUB_MIN) ? old : b;
    case PTX_SUB_INC: return old >= b ? 0 : old + 1;
    case PTX_SUB_DEC: return !old || old > b ? b : old - 1;
    case PTX_SUB_CAS: return old == b ? c : old;
    default: return b; /* exch */
    }
    uint32_t lo = op_half(i->type, i->sub, (uint16_t)old, (uint16_t)b);
    uint32_t hi = op_half(i->type, i->sub, (uint16_t)(old >> 16), (uint16_t)(b >> 16));
    return hi << 16 | lo;
}

static uint64_t result64(const struct code_inst *i, uint64_t old, uint64_t b, uint64_t c) {
    switch (i->sub) {
    case PTX_SUB_ADD: return i->type == PTX_F64 ? add_double(old, b) : old + b;
    case PTX_SUB_AND: return old & b;
    case PTX_SUB_OR: return old | b;
    case PTX_SUB_XOR: return old ^ b;
    case PTX_SUB_MIN:
    case PTX_SUB_MAX:
        if (i->type == PTX_S64)
            return ((int64_t)old < (int64_t)b) == (i->sub == PTX_SUB_MIN) ? old : b;
        return (old < b) == (i->sub == PTX_SUB_MIN) ? old : b;
    case PTX_SUB_CAS: return old == b ? c : old;
    default: return b;
    }
}

static uint16_t result16(const struct code_inst *i, uint16_t old, uint16_t b, uint16_t c) {
    if (i->sub == PTX_SUB_CAS) return old == b ? c : old;
    if (i->sub == PTX_SUB_EXCH) return b;
    return op_half(i->type, i->sub, old, b);
}

/* ---- one lane ----------------------------------------------------------------------------------
 */

/* True if no atomic instruction is needed: shared memory and stacks belong to the one thread that
 * runs the cluster. */
static bool is_plain(const struct code_inst *i) {
    return i->space == PTX_SHARED || i->space == PTX_CLUSTER || i->space == PTX_LOCAL;
}

/* Sums of f32 are flushed in global memory, but not in shared memory (PTX, "atom"). */
static struct code_inst in_global(const struct code_inst *i) {
    struct code_inst flushing = *i;
    flushing.mods |= PTX_MOD_FTZ; /* atomic operations have no .ftz of their own */
    return flushing;
}

static bool is_global(const struct warp_ctx *x, uint64_t addr) {
    return addr - x->cluster_base >= x->cluster_bytes;
}

#define ATOMICS_WIDTH(bits)                                                                       \
    static uint##bits##_t swap##bits(const struct code_inst *i, uint64_t addr, uint##bits##_t b,  \
                                     uint##bits##_t c) {                                          \
        _Atomic uint##bits##_t *p = (_Atomic uint##bits##_t *)(uintptr_t)addr;                    \
        uint##bits##_t old = atom_load_relaxed(p);                                                \
        while (!atom_cas(p, &old, result##bits(i, old, b, c)))                                    \
            continue;                                                                             \
        return old;                                                                               \
    }                                                                                             \
    static uint##bits##_t plain_swap##bits(const struct code_inst *i, uint64_t addr,              \
                                           uint##bits##_t b, uint##bits##_t c) {                  \
        uint##bits##_t old, new;                                                                  \
        memcpy(&old, (void *)(uintptr_t)addr, sizeof(old));                                       \
        new = result##bits(i, old, b, c);                                                         \
        memcpy((void *)(uintptr_t)addr, &new, sizeof(new));                                       \
        return old;                                                                               \
    }                                                                                             \
    static void any##bits(struct warp *w, const struct code_inst *i, uint32_t mask) {             \
        struct warp_ctx *x = (struct warp_ctx *)w;                                                \
        uint64_t at[WARP_LANES] __attribute__((aligned(64)));                                     \
        x->spin = true;                                                                           \
        if (!mem_resolve(x, i, mask, sizeof(uint##bits##_t), true, at)) return;                   \
        mem_count(x, at);                                                                         \
        uint##bits##_t *d = i->d == CODE_NO_SLOT ? NULL : SLOT(uint##bits##_t, w, i->d);          \
        const uint##bits##_t *b = SLOT(const uint##bits##_t, w, i->b);                            \
        const uint##bits##_t *c = i->c == CODE_NO_SLOT ? b : SLOT(const uint##bits##_t, w, i->c); \
        const bool plain = is_plain(i);                                                           \
        const struct code_inst global = in_global(i);                                             \
        for (uint32_t left = mask; left; left &= left - 1) {                                      \
            const uint32_t l = (uint32_t)__builtin_ctz(left);                                     \
            const struct code_inst *op = is_global(x, at[l]) ? &global : i;                       \
            const uint##bits##_t old = plain ? plain_swap##bits(i, at[l], b[l], c[l])             \
                                             : swap##bits(op, at[l], b[l], c[l]);                 \
            if (d) d[l] = old;                                                                    \
        }                                                                                         \
    }
ATOMICS_WIDTH(16)
ATOMICS_WIDTH(32)
ATOMICS_WIDTH(64)

/* ---- 128 bits: exchanged, or compared first -----------------------------------------------------
 */

static struct atom_pair result128(const struct code_inst *i, struct atom_pair old,
                                  struct atom_pair b, struct atom_pair c) {
    if (i->sub != PTX_SUB_CAS) return b;
    return old.lo == b.lo && old.hi == b.hi ? c : old;
}

/* The first read may be torn; it is only a guess for the compare-and-swap. */
static struct atom_pair swap128(const struct code_inst *i, uint64_t addr, struct atom_pair b,
                                struct atom_pair c) {
    const _Atomic uint64_t *half = (const _Atomic uint64_t *)(uintptr_t)addr;
    struct atom_pair old = {atom_load_relaxed(half), atom_load_relaxed(half + 1)};
    while (!atom_cas_pair((void *)(uintptr_t)addr, &old, result128(i, old, b, c)))
        continue;
    return old;
}

static struct atom_pair plain_swap128(const struct code_inst *i, uint64_t addr, struct atom_pair b,
                                      struct atom_pair c) {
    struct atom_pair old, new;
    memcpy(&old, (void *)(uintptr_t)addr, sizeof(old));
    new = result128(i, old, b, c);
    memcpy((void *)(uintptr_t)addr, &new, sizeof(new));
    return old;
}

static void any128(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    x->spin = true;
    if (!mem_resolve(x, i, mask, sizeof(struct atom_pair), true, at)) return;
    mem_count(x, at);
    struct atom_pair *d = i->d == CODE_NO_SLOT ? NULL : SLOT(struct atom_pair, w, i->d);
    const struct atom_pair *b = SLOT(const struct atom_pair, w, i->b);
    const struct atom_pair *c = i->c == CODE_NO_SLOT ? b : SLOT(const struct atom_pair, w, i->c);
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        const struct atom_pair old =
            is_plain(i) ? plain_swap128(i, at[l], b[l], c[l]) : swap128(i, at[l], b[l], c[l]);
        if (d) d[l] = old;
    }
}

/* ---- vectors, and several values of other instructions ------------------------------------------
 */

static uint64_t swap(const struct code_inst *i, uint64_t addr, uint64_t value) {
    switch (ptx_type_bytes(i->type)) {
    case 2: return swap16(i, addr, (uint16_t)value, 0);
    case 4: return swap32(i, addr, (uint32_t)value, 0);
    default: return swap64(i, addr, value, 0);
    }
}

/* Vectors: each element is combined separately. */
static void vector(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const struct code_extra *e = i->extra;
    const uint32_t each = ptx_type_bytes(i->type);
    const struct code_inst global = in_global(i); /* vectors are always in global memory */
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    x->spin = true;
    if (!mem_resolve(x, i, mask, each * e->use_count, true, at)) return;
    mem_count(x, at);
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        for (uint32_t k = 0; k < e->use_count; k++) {
            uint64_t v = 0;
            memcpy(&v, SLOT(const unsigned char, w, e->uses[k].slot) + (size_t)l * each, each);
            v = swap(&global, at[l] + (uint64_t)k * each, v);
            if (k < e->def_count && e->defs[k].slot != CODE_NO_SLOT)
                memcpy(SLOT(unsigned char, w, e->defs[k].slot) + (size_t)l * each, &v, each);
        }
    }
}

void atomic_access_combine(const struct code_inst *i, uint64_t addr, uint64_t value) {
    swap(i, addr, value);
}

/* ---- integer add, the usual case ---------------------------------------------------------------
 */

static bool one_address(const uint64_t *at, uint32_t mask) {
    uint64_t first = at[__builtin_ctz(mask)], differ = 0;
    for (uint32_t left = mask; left; left &= left - 1)
        differ |= at[__builtin_ctz(left)] ^ first;
    return !differ;
}

#define ATOMICS_ADD(bits)                                                                          \
    static void add##bits(struct warp *w, const struct code_inst *i, uint32_t mask) {              \
        struct warp_ctx *x = (struct warp_ctx *)w;                                                 \
        uint64_t at[WARP_LANES] __attribute__((aligned(64)));                                      \
        x->spin = true;                                                                            \
        if (!mem_resolve(x, i, mask, sizeof(uint##bits##_t), true, at)) return;                    \
        mem_count(x, at);                                                                          \
        uint##bits##_t *d = i->d == CODE_NO_SLOT ? NULL : SLOT(uint##bits##_t, w, i->d);           \
        const uint##bits##_t *b = SLOT(const uint##bits##_t, w, i->b);                             \
        if (is_plain(i)) {                                                                         \
            for (uint32_t left = mask; left; left &= left - 1) {                                   \
                const uint32_t l = (uint32_t)__builtin_ctz(left);                                  \
                uint##bits##_t *p = (uint##bits##_t *)(uintptr_t)at[l];                            \
                const uint##bits##_t old = *p;                                                     \
                *p = old + b[l];                                                                   \
                if (d) d[l] = old;                                                                 \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        if (one_address(at, mask)) { /* one locked instruction for the warp */                     \
            uint##bits##_t sum = 0, before[WARP_LANES];                                            \
            for (uint32_t left = mask; left; left &= left - 1) {                                   \
                const uint32_t l = (uint32_t)__builtin_ctz(left);                                  \
                before[l] = sum;                                                                   \
                sum += b[l];                                                                       \
            }                                                                                      \
            const uint##bits##_t old =                                                             \
                atom_add((_Atomic uint##bits##_t *)(uintptr_t)at[__builtin_ctz(mask)], sum);       \
            for (uint32_t left = d ? mask : 0; left; left &= left - 1) {                           \
                const uint32_t l = (uint32_t)__builtin_ctz(left);                                  \
                d[l] = old + before[l];                                                            \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (uint32_t left = mask; left; left &= left - 1) {                                       \
            const uint32_t l = (uint32_t)__builtin_ctz(left);                                      \
            const uint##bits##_t old = atom_add((_Atomic uint##bits##_t *)(uintptr_t)at[l], b[l]); \
            if (d) d[l] = old;                                                                     \
        }                                                                                          \
    }
ATOMICS_ADD(32)
ATOMICS_ADD(64)

/* ---- selection ---------------------------------------------------------------------------------
 */

static bool is_known(const struct code_inst *i) {
    bool half = i->type == PTX_F16 || i->type == PTX_BF16;
    bool pair = i->type == PTX_F16X2 || i->type == PTX_BF16X2;
    bool real = i->type == PTX_F32 || i->type == PTX_F64;
    switch (i->sub) {
    case PTX_SUB_ADD: return i->type != PTX_B16 && i->type != PTX_U16 && i->type != PTX_S16;
    case PTX_SUB_MIN:
    case PTX_SUB_MAX: return !real && i->type != PTX_B16;
    case PTX_SUB_INC:
    case PTX_SUB_DEC: return i->type == PTX_U32;
    case PTX_SUB_AND:
    case PTX_SUB_OR:
    case PTX_SUB_XOR: return !half && !pair && !real && ptx_type_bytes(i->type) >= 4;
    case PTX_SUB_CAS:
    case PTX_SUB_EXCH: return !half && !pair && ptx_type_bytes(i->type) >= 2;
    default: return false;
    }
}

code_handler *atomic_access_select(const struct code_inst *i) {
    if (!is_known(i)) return NULL;
    if (i->vec > 1) return ptx_type_bytes(i->type) <= 4 ? vector : NULL;
    bool integer = i->type == PTX_U32 || i->type == PTX_S32 || i->type == PTX_B32 ||
                   i->type == PTX_U64 || i->type == PTX_S64 || i->type == PTX_B64;
    switch (ptx_type_bytes(i->type)) {
    case 2: return any16;
    case 4: return i->sub == PTX_SUB_ADD && integer ? add32 : any32;
    case 8: return i->sub == PTX_SUB_ADD && integer ? add64 : any64;
    case 16: return any128;
    default: return NULL;
    }
}
