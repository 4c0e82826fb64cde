/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that move values without computing: special registers, addresses of local variables
 * and parameters, packing, address spaces. Also the operations that do nothing here, and those that
 * end the launch.
 */
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/launch/clock.h"
#include "daemon/device/soft/launch/cluster_state.h"
#include "daemon/device/soft/launch/each_lane.h"
#include "daemon/device/soft/launch/warp.h"
#include "daemon/device/soft/memory/mem.h"

#define MOVE_EACH(mask, ...)                               \
    for (uint32_t left = (mask); left; left &= left - 1) { \
        const uint32_t l = (uint32_t)__builtin_ctz(left);  \
        __VA_ARGS__                                        \
    }

#define WIDE 16u /* bytes of a lane of 128 bits */

/* ---- special registers -------------------------------------------------------------------------
 */

/* Value of a special register that describes the cluster. */
static uint64_t cluster_sreg(const struct block *b, enum ptx_sreg r) {
    const struct launch_config *g = b->config;
    const uint32_t *of = g->cluster, *at = b->cluster->index;
    switch (r) {
    case PTX_SREG_CLUSTERID_X:
    case PTX_SREG_CLUSTERID_Y:
    case PTX_SREG_CLUSTERID_Z: return at[r - PTX_SREG_CLUSTERID_X];
    case PTX_SREG_NCLUSTERID_X:
    case PTX_SREG_NCLUSTERID_Y:
    case PTX_SREG_NCLUSTERID_Z:
        return g->grid[r - PTX_SREG_NCLUSTERID_X] / of[r - PTX_SREG_NCLUSTERID_X];
    case PTX_SREG_CLUSTER_CTAID_X:
    case PTX_SREG_CLUSTER_CTAID_Y:
    case PTX_SREG_CLUSTER_CTAID_Z:
        return b->index[r - PTX_SREG_CLUSTER_CTAID_X] % of[r - PTX_SREG_CLUSTER_CTAID_X];
    case PTX_SREG_CLUSTER_NCTAID_X:
    case PTX_SREG_CLUSTER_NCTAID_Y:
    case PTX_SREG_CLUSTER_NCTAID_Z: return of[r - PTX_SREG_CLUSTER_NCTAID_X];
    case PTX_SREG_CLUSTER_CTARANK: return b->rank;
    case PTX_SREG_CLUSTER_NCTARANK: return b->cluster->size;
    default: return 0;
    }
}

/* Value of a special register that is equal in all lanes. */
static uint64_t uniform_sreg(const struct warp_ctx *x, enum ptx_sreg r) {
    const struct block *b = x->block;
    const struct launch_config *g = b->config;
    switch (r) {
    case PTX_SREG_NTID_X:
    case PTX_SREG_NTID_Y:
    case PTX_SREG_NTID_Z: return g->block[r - PTX_SREG_NTID_X];
    case PTX_SREG_CTAID_X:
    case PTX_SREG_CTAID_Y:
    case PTX_SREG_CTAID_Z: return b->index[r - PTX_SREG_CTAID_X];
    case PTX_SREG_NCTAID_X:
    case PTX_SREG_NCTAID_Y:
    case PTX_SREG_NCTAID_Z: return g->grid[r - PTX_SREG_NCTAID_X];
    case PTX_SREG_WARPID: return x->id;
    case PTX_SREG_NWARPID: return b->warp_count;
    case PTX_SREG_SMID: return b->slot;
    case PTX_SREG_NSMID: return b->slot + 1;
    case PTX_SREG_GRIDID: return b->launch->serial;
    case PTX_SREG_CURRENT_GRAPH_EXEC: return g->graph ? g->graph->handle : 0;
    case PTX_SREG_DYNAMIC_SMEM: return g->shared_bytes;
    case PTX_SREG_TOTAL_SMEM:
    case PTX_SREG_AGGR_SMEM: return b->shared_bytes;
    case PTX_SREG_ENVREG1: return launch_workspace(b->launch) >> 32;
    case PTX_SREG_ENVREG2: return launch_workspace(b->launch) & UINT32_MAX;
    case PTX_SREG_RESERVED_SMEM_BEGIN:
    case PTX_SREG_RESERVED_SMEM_0: return b->shared_bytes - CODE_RESERVED_BYTES;
    case PTX_SREG_RESERVED_SMEM_1:
        return b->shared_bytes - CODE_RESERVED_BYTES + CODE_RESERVED_PART;
    case PTX_SREG_RESERVED_SMEM_CAP:
    case PTX_SREG_RESERVED_SMEM_END: return b->shared_bytes;
    default: return cluster_sreg(b, r);
    }
}

#define MOVE_ROW(f)                                                                             \
    {                                                                                           \
        f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), \
            f(14), f(15), f(16), f(17), f(18), f(19), f(20), f(21), f(22), f(23), f(24), f(25), \
            f(26), f(27), f(28), f(29), f(30), f(31)                                            \
    }
#define MOVE_ID(l) (l)
#define MOVE_EQ(l) (1u << (l))
#define MOVE_LT(l) ((1u << (l)) - 1)
#define MOVE_LE(l) ((1u << (l)) - 1 + (1u << (l)))
#define MOVE_GE(l) (~MOVE_LT(l))
#define MOVE_GT(l) (~MOVE_LE(l))

/* Values of a special register that differs between lanes, as a row of 32 values. NULL for any
 * other register. */
static const uint32_t *sreg_lanes(const struct warp_ctx *x, enum ptx_sreg r) {
    static const uint32_t id[] = MOVE_ROW(MOVE_ID), eq[] = MOVE_ROW(MOVE_EQ);
    static const uint32_t lt[] = MOVE_ROW(MOVE_LT), le[] = MOVE_ROW(MOVE_LE);
    static const uint32_t ge[] = MOVE_ROW(MOVE_GE), gt[] = MOVE_ROW(MOVE_GT);
    switch (r) {
    case PTX_SREG_TID_X:
    case PTX_SREG_TID_Y:
    case PTX_SREG_TID_Z: return x->tid[r - PTX_SREG_TID_X];
    case PTX_SREG_LANEID: return id;
    case PTX_SREG_LANEMASK_EQ: return eq;
    case PTX_SREG_LANEMASK_LT: return lt;
    case PTX_SREG_LANEMASK_LE: return le;
    case PTX_SREG_LANEMASK_GE: return ge;
    case PTX_SREG_LANEMASK_GT: return gt;
    default: return NULL;
    }
}

#define MOVE_SREG(bits)                                                                    \
    static void run_sreg##bits(struct warp *w, const struct code_inst *i, uint32_t mask) { \
        const struct warp_ctx *x = (const struct warp_ctx *)w;                             \
        uint##bits##_t *d = SLOT(uint##bits##_t, w, i->d);                                 \
        const uint32_t *lanes = sreg_lanes(x, (enum ptx_sreg)i->target);                   \
        const uint64_t one = lanes ? 0 : uniform_sreg(x, (enum ptx_sreg)i->target);        \
        if (mask != UINT32_MAX) {                                                          \
            MOVE_EACH(mask, d[l] = (uint##bits##_t)(lanes ? lanes[l] : one);)              \
        } else if (lanes) {                                                                \
            for (uint32_t l = 0; l < WARP_LANES; l++)                                      \
                d[l] = (uint##bits##_t)lanes[l];                                           \
        } else {                                                                           \
            for (uint32_t l = 0; l < WARP_LANES; l++)                                      \
                d[l] = (uint##bits##_t)one;                                                \
        }                                                                                  \
    }
MOVE_SREG(16)
MOVE_SREG(32)
MOVE_SREG(64)

/* Reads %is_explicit_cluster, the only special register that is a predicate. */
static void run_sreg_pred(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct warp_ctx *x = (const struct warp_ctx *)w;
    uint32_t *d = SLOT(uint32_t, w, i->d);
    *d = (*d & ~mask) | (x->block->launch->clustered ? mask : 0);
}

code_handler *move_sreg(uint32_t bytes) {
    if (!bytes) return run_sreg_pred;
    return bytes == 8 ? run_sreg64 : bytes == 4 ? run_sreg32 : run_sreg16;
}

bool move_is_clock(enum ptx_sreg r) {
    return r == PTX_SREG_CLOCK || r == PTX_SREG_CLOCK64 || r == PTX_SREG_CLOCK_HI ||
           r == PTX_SREG_GLOBALTIMER || r == PTX_SREG_GLOBALTIMER_LO ||
           r == PTX_SREG_GLOBALTIMER_HI;
}

static uint64_t read_clock(enum ptx_sreg r, uint64_t ns) {
    switch (r) {
    case PTX_SREG_CLOCK:
    case PTX_SREG_CLOCK64: return clock_ticks(ns);
    case PTX_SREG_CLOCK_HI: return clock_ticks(ns) >> 32;
    case PTX_SREG_GLOBALTIMER_HI: return ns >> 32;
    default: return ns;
    }
}

void move_clock(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint64_t done) {
    const struct clock_counts *counts = x->block->config->counts;
    const uint64_t ns = counts ? clock_counted_ns(counts->insts + done) : clock_ns();
    const uint64_t value = read_clock((enum ptx_sreg)i->target, ns);
    unsigned char *d = SLOT(unsigned char, &x->w, i->d);
    x->spin = true;
    for (uint32_t left = mask; left; left &= left - 1)
        memcpy(d + (size_t)__builtin_ctz(left) * i->d_bytes, &value, i->d_bytes);
}

/* ---- addresses ---------------------------------------------------------------------------------
 */

void move_address(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct warp_ctx *x = (const struct warp_ctx *)w;
    uint64_t v = i->space == PTX_PARAM ? x->param_base : x->frame->local_offset;
    v += (uint64_t)i->offset;
    if (i->d_bytes == 8)
        MOVE_EACH(mask, SLOT(uint64_t, w, i->d)[l] = v;)
    else
        MOVE_EACH(mask, SLOT(uint32_t, w, i->d)[l] = (uint32_t)v;)
}

/* offset_of converts a generic address into an offset in shared memory, address_of converts back.
 * The offset of an address in another block of the cluster contains that block's rank. */
static uint64_t offset_of(const struct warp_ctx *x, uint64_t addr) {
    const struct block *b = x->block;
    uint64_t offset = addr - x->shared_base, within;
    uint32_t rank;
    if (offset < x->shared_bytes || !cluster_find(b->cluster, addr, &rank, &within)) return offset;
    return (uint64_t)(rank + 1) << CLUSTER_RANK_BIT | within;
}

static uint64_t address_of(const struct warp_ctx *x, uint64_t offset) {
    const struct block *b = x->block;
    return cluster_of_offset(b->cluster, b->rank, offset);
}

static void run_cvta_shared(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct warp_ctx *x = (const struct warp_ctx *)w;
    uint64_t *d = SLOT(uint64_t, w, i->d);
    const uint64_t *a = SLOT(const uint64_t, w, i->a);
    if (i->mods & PTX_MOD_TO)
        MOVE_EACH(mask, d[l] = offset_of(x, a[l]);)
    else
        MOVE_EACH(mask, d[l] = address_of(x, a[l]);)
}

static void run_cvta_local(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct warp_ctx *x = (const struct warp_ctx *)w;
    uint64_t *d = SLOT(uint64_t, w, i->d);
    const uint64_t *a = SLOT(const uint64_t, w, i->a);
    MOVE_EACH(mask, const uint64_t base = x->local_base + l * x->local_stride;
              d[l] = i->mods & PTX_MOD_TO ? a[l] - base : a[l] + base;)
}

static bool is_in_space(const struct warp_ctx *x, uint32_t space, uint32_t lane, uint64_t addr) {
    bool shared = addr - x->shared_base < x->shared_bytes;
    bool local = addr - (x->local_base + lane * x->local_stride) < x->local_bytes;
    bool param = addr - x->param_base < x->param_bytes;
    switch (space) {
    case PTX_SHARED: return shared;
    case PTX_CLUSTER: return mem_in_cluster(x, addr, 1);
    case PTX_LOCAL: return local;
    case PTX_PARAM: return param;
    case PTX_CONST: return false; /* constants lie in global memory */
    default: return !local && !param && !mem_in_cluster(x, addr, 1);
    }
}

static void run_isspacep(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct warp_ctx *x = (const struct warp_ctx *)w;
    const uint64_t *a = SLOT(const uint64_t, w, i->a);
    uint32_t p = 0, *d = SLOT(uint32_t, w, i->d);
    MOVE_EACH(mask, p |= (uint32_t)is_in_space(x, i->space, l, a[l]) << l;)
    *d = (*d & ~mask) | p;
}

/* ---- other blocks of the cluster ---------------------------------------------------------------
 */

static uint64_t read_address(const struct warp *w, const struct code_inst *i, uint32_t lane) {
    return i->a_bytes == 8 ? SLOT(const uint64_t, w, i->a)[lane]
                           : SLOT(const uint32_t, w, i->a)[lane];
}

/* Finds the block of the cluster to which an address belongs, and the offset there. */
static bool place_of(const struct warp_ctx *x, const struct code_inst *i, uint64_t addr,
                     uint32_t *rank, uint64_t *offset) {
    if (i->space != PTX_GENERIC) addr = address_of(x, addr);
    return cluster_find(x->block->cluster, addr, rank, offset);
}

/* mapa: the address of the same place in the block of rank `to`. An address outside every block, or
 * a rank that does not exist, gives an address that every access rejects. */
static uint64_t mapped(const struct warp_ctx *x, const struct code_inst *i, uint64_t addr,
                       uint32_t to) {
    const struct cluster *c = x->block->cluster;
    uint64_t offset;
    uint32_t rank;
    bool there = place_of(x, i, addr, &rank, &offset) && to < c->size;
    if (i->space == PTX_GENERIC) return there ? cluster_address(c, to, offset) : 0;
    return (uint64_t)(there ? to + 1 : LAUNCH_CLUSTER_MAX + 1) << CLUSTER_RANK_BIT |
           (there ? offset : 0);
}

static void run_mapa(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct warp_ctx *x = (const struct warp_ctx *)w;
    const uint32_t *b = SLOT(const uint32_t, w, i->b);
    MOVE_EACH(mask, const uint64_t v = mapped(x, i, read_address(w, i, l), b[l]);
              if (i->d_bytes == 8) SLOT(uint64_t, w, i->d)[l] = v;
              else SLOT(uint32_t, w, i->d)[l] = (uint32_t)v;)
}

static void run_getctarank(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct warp_ctx *x = (const struct warp_ctx *)w;
    uint32_t *d = SLOT(uint32_t, w, i->d);
    MOVE_EACH(mask, uint32_t rank; uint64_t offset;
              d[l] = place_of(x, i, read_address(w, i, l), &rank, &offset) ? rank : 0;)
}

/* createpolicy: cache policies have no effect here, so the policy is 0. */
static void run_zero(struct warp *w, const struct code_inst *i, uint32_t mask) {
    if (i->d_bytes == 8)
        MOVE_EACH(mask, SLOT(uint64_t, w, i->d)[l] = 0;)
    else
        MOVE_EACH(mask, SLOT(uint32_t, w, i->d)[l] = 0;)
}

/* ---- packing -----------------------------------------------------------------------------------
 */

/* Moves 128 bits: the bytes of a lane lie side by side. */
static void run_wide(struct warp *w, const struct code_inst *i, uint32_t mask) {
    unsigned char *d = SLOT(unsigned char, w, i->d);
    const unsigned char *a = SLOT(const unsigned char, w, i->a);
    MOVE_EACH(mask, memmove(d + WIDE * l, a + WIDE * l, WIDE);)
}

static void run_pack_wide(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    const size_t part = i->d_bytes;
    for (uint32_t k = 0; k < x->use_count; k++) {
        unsigned char *d = SLOT(unsigned char, w, i->d) + k * part;
        const unsigned char *from = SLOT(const unsigned char, w, x->uses[k].slot);
        MOVE_EACH(mask, memcpy(d + WIDE * l, from + part * l, part);)
    }
}

static void run_unpack_wide(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    const size_t part = i->d_bytes;
    for (uint32_t k = 0; k < x->def_count; k++) {
        if (x->defs[k].slot == CODE_NO_SLOT) continue;
        const unsigned char *a = SLOT(const unsigned char, w, i->a) + k * part;
        unsigned char *to = SLOT(unsigned char, w, x->defs[k].slot);
        MOVE_EACH(mask, memcpy(to + part * l, a + WIDE * l, part);)
    }
}

/* clusterlaunchcontrol.query_cancel.is_canceled: tells whether a request was granted, that is,
 * whether its answer is not all zeros. */
static void run_granted(struct warp *w, const struct code_inst *i, uint32_t mask) {
    static const unsigned char no[WIDE] = {0};
    const unsigned char *a = SLOT(const unsigned char, w, i->a);
    uint32_t p = 0, *d = SLOT(uint32_t, w, i->d);
    MOVE_EACH(mask, p |= (uint32_t)(memcmp(a + WIDE * l, no, WIDE) != 0) << l;)
    *d = (*d & ~mask) | p;
}

static uint64_t read_elem(const struct warp *w, const struct code_elem *e, uint32_t lane) {
    switch (e->bytes) {
    case 2: return SLOT(uint16_t, w, e->slot)[lane];
    case 4: return SLOT(uint32_t, w, e->slot)[lane];
    default: return SLOT(uint64_t, w, e->slot)[lane];
    }
}

static void write_elem(const struct warp *w, const struct code_elem *e, uint32_t lane, uint64_t v) {
    switch (e->bytes) {
    case 2: SLOT(uint16_t, w, e->slot)[lane] = (uint16_t)v; break;
    case 4: SLOT(uint32_t, w, e->slot)[lane] = (uint32_t)v; break;
    default: SLOT(uint64_t, w, e->slot)[lane] = v; break;
    }
}

/* Packs parts into one value; i->d_bytes is the size of one part. */
static void run_pack(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    const uint32_t bits = 8u * i->d_bytes, total = bits * x->use_count;
    const struct code_elem d = {i->d, (uint8_t)(total / 8)};
    MOVE_EACH(
        mask, uint64_t v = 0; for (uint32_t k = 0; k < x->use_count; k++) {
            const uint64_t part = read_elem(w, &x->uses[k], l) & ((1ull << bits) - 1);
            v |= part << k * bits;
        } write_elem(w, &d, l, v);)
}

static void run_unpack(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    const uint32_t bits = 8u * i->d_bytes, total = bits * x->def_count;
    const struct code_elem a = {i->a, (uint8_t)(total / 8)};
    MOVE_EACH(
        mask, const uint64_t v = read_elem(w, &a, l); for (uint32_t k = 0; k < x->def_count; k++) {
            if (x->defs[k].slot == CODE_NO_SLOT) continue;
            write_elem(w, &x->defs[k], l, v >> k * bits & ((1ull << bits) - 1));
        })
}

/* The usual case: two parts, each as wide as its register. */
#define MOVE_PAIR(bits, twice)                                                               \
    static void run_pack##bits(struct warp *w, const struct code_inst *i, uint32_t mask) {   \
        const struct code_elem *e = ((const struct code_extra *)i->extra)->uses;             \
        const uint##bits##_t *low = SLOT(const uint##bits##_t, w, e[0].slot);                \
        const uint##bits##_t *high = SLOT(const uint##bits##_t, w, e[1].slot);               \
        uint##twice##_t *d = SLOT(uint##twice##_t, w, i->d);                                 \
        if (mask != UINT32_MAX) {                                                            \
            MOVE_EACH(mask, d[l] = (uint##twice##_t)high[l] << bits | low[l];)               \
            return;                                                                          \
        }                                                                                    \
        EACH_LANE(l) d[l] = (uint##twice##_t)high[l] << bits | low[l];                       \
    }                                                                                        \
    static void run_unpack##bits(struct warp *w, const struct code_inst *i, uint32_t mask) { \
        const struct code_elem *e = ((const struct code_extra *)i->extra)->defs;             \
        uint##bits##_t *low = SLOT(uint##bits##_t, w, e[0].slot);                            \
        uint##bits##_t *high = SLOT(uint##bits##_t, w, e[1].slot);                           \
        const uint##twice##_t *a = SLOT(const uint##twice##_t, w, i->a);                     \
        if (mask != UINT32_MAX) {                                                            \
            MOVE_EACH(mask, low[l] = (uint##bits##_t)a[l];                                   \
                      high[l] = (uint##bits##_t)(a[l] >> bits);)                             \
            return;                                                                          \
        }                                                                                    \
        EACH_LANE(l) low[l] = (uint##bits##_t)a[l];                                          \
        EACH_LANE(l) high[l] = (uint##bits##_t)(a[l] >> bits);                               \
    }
MOVE_PAIR(16, 32)
MOVE_PAIR(32, 64)

/* True if `elems` are two parts, each as wide as its register. */
static bool is_pair(const struct code_inst *i, const struct code_elem *elems, uint32_t count,
                    uint32_t bytes) {
    return count == 2 && i->d_bytes == bytes && elems[0].bytes == bytes &&
           elems[1].bytes == bytes && elems[0].slot != CODE_NO_SLOT &&
           elems[1].slot != CODE_NO_SLOT;
}

/* ---- other operations --------------------------------------------------------------------------
 */

static void run_trap(struct warp *w, const struct code_inst *i, uint32_t mask) {
    warp_fault(w, i, (uint32_t)__builtin_ctz(mask), ERR_LAUNCH_FAILED, 0, "the kernel trapped");
}

static void run_fence(struct warp *w, const struct code_inst *i, uint32_t mask) {
    (void)w;
    (void)i;
    (void)mask;
    atom_fence();
}

static void run_nothing(struct warp *w, const struct code_inst *i, uint32_t mask) {
    (void)w;
    (void)i;
    (void)mask;
}

static void run_nanosleep(struct warp *w, const struct code_inst *i, uint32_t mask) {
    (void)i;
    (void)mask;
    ((struct warp_ctx *)w)->spin = true;
}

static code_handler *select_mov(const struct code_inst *i) {
    const struct code_extra *x = i->extra;
    if (i->type == PTX_B128) return !x ? run_wide : x->use_count ? run_pack_wide : run_unpack_wide;
    if (x->use_count) {
        if (is_pair(i, x->uses, x->use_count, 2)) return run_pack16;
        return is_pair(i, x->uses, x->use_count, 4) ? run_pack32 : run_pack;
    }
    if (is_pair(i, x->defs, x->def_count, 2)) return run_unpack16;
    return is_pair(i, x->defs, x->def_count, 4) ? run_unpack32 : run_unpack;
}

code_handler *move_select(const struct code_inst *i) {
    switch (i->op) {
    case PTX_OP_mov: return select_mov(i);
    case PTX_OP_clusterlaunchcontrol: return i->extra ? run_unpack_wide : run_granted;
    case PTX_OP_cvta:
        if (i->space == PTX_SHARED || i->space == PTX_CLUSTER) return run_cvta_shared;
        return i->space == PTX_LOCAL ? run_cvta_local : NULL;
    case PTX_OP_isspacep: return run_isspacep;
    case PTX_OP_mapa: return run_mapa;
    case PTX_OP_getctarank: return run_getctarank;
    case PTX_OP_createpolicy: return run_zero;
    case PTX_OP_trap:
    case PTX_OP_brkpt: return run_trap;
    case PTX_OP_membar:
    case PTX_OP_fence: return run_fence;
    case PTX_OP_nanosleep: return run_nanosleep;
    case PTX_OP_cp:
    case PTX_OP_prefetch:
    case PTX_OP_prefetchu:
    case PTX_OP_discard:
    case PTX_OP_applypriority:
    case PTX_OP_griddepcontrol:
    case PTX_OP_pmevent:
    case PTX_OP_setmaxnreg:
    case PTX_OP_tensormap:
    case PTX_OP_wgmma: return run_nothing;
    default: return NULL;
    }
}
