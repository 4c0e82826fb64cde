/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of memory: what a lane may touch. Generic addresses are host addresses. They must lie
 * in the client's ranges, or in the shared memory of the block or of another block of its cluster.
 * Others lie in the lane's own stack, in the parameters (only to be read), or in the workspace of a
 * cooperative launch. Shared and local addresses are offsets from the block's and the lane's base;
 * those of a cluster also name a block (cluster_state.h).
 */
#include "daemon/device/soft/memory/mem.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/launch/cluster_state.h"
#include "daemon/device/soft/memory/sectors.h"

static bool is_inside(uint64_t addr, uint64_t bytes, uint64_t lo, uint64_t size) {
    return size >= bytes && addr - lo <= size - bytes;
}

/* True if the access is in the block's shared memory or on the lane's stack. */
static bool is_own(const struct warp_ctx *x, uint32_t lane, uint64_t addr, uint64_t bytes) {
    return is_inside(addr, bytes, x->shared_base, x->shared_bytes) ||
           is_inside(addr, bytes, x->local_base + lane * x->local_stride, x->local_bytes);
}

/* True if the access is in global memory. */
static bool is_global(const struct warp_ctx *x, uint64_t addr, uint64_t bytes) {
    return ranges_find(x->block->config->ranges, addr, bytes) != NULL;
}

bool mem_in_cluster(const struct warp_ctx *x, uint64_t addr, uint64_t bytes) {
    uint32_t rank;
    uint64_t offset;
    return cluster_find(x->block->cluster, addr, &rank, &offset) &&
           bytes <= x->shared_bytes - offset;
}

bool mem_lane_ok(struct warp_ctx *x, uint32_t lane, uint64_t addr, uint64_t bytes, bool write) {
    if (is_own(x, lane, addr, bytes) || is_global(x, addr, bytes)) return true;
    if (!write && is_inside(addr, bytes, x->param_base, x->param_bytes)) return true;
    if (mem_in_cluster(x, addr, bytes)) return true;
    uint64_t workspace = launch_workspace(x->block->launch);
    return workspace && is_inside(addr, bytes, workspace, LAUNCH_WORKSPACE_BYTES);
}

/* Finds the range that contains the access, as a window for the next one. Returns false if there is
 * none. */
static bool find_window(const struct warp_ctx *x, uint64_t addr, uint64_t bytes,
                        struct range *out) {
    const struct range *r = ranges_find(x->block->config->ranges, addr, bytes);
    if (r) {
        *out = *r;
        return true;
    }
    uint32_t rank;
    uint64_t offset;
    if (!cluster_find(x->block->cluster, addr, &rank, &offset)) return false;
    *out = (struct range){addr - offset, addr - offset + x->shared_bytes};
    return bytes <= x->shared_bytes - offset;
}

/* True if all lanes of `mask` are aligned and inside [lo, lo + size). The loop has no branches, so
 * that it vectorises. */
static bool are_inside(const uint64_t *at, uint32_t mask, uint64_t bytes, uint64_t lo,
                       uint64_t size) {
    if (size < bytes) return false;
    const uint64_t room = size - bytes, low = bytes - 1;
    uint64_t bad = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        const uint64_t lane = 0 - (uint64_t)(mask >> l & 1);
        bad |= ((uint64_t)(at[l] - lo > room) | (at[l] & low)) & lane;
    }
    return !bad;
}

bool mem_check(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, const uint64_t *at,
               uint32_t bytes, bool write) {
    struct range *window = &x->windows[CODE_WINDOW(i)], fresh;
    uint32_t global = 0;
    bool inside = are_inside(at, mask, bytes, window->lo, window->hi - window->lo);
    if (!inside && find_window(x, at[__builtin_ctz(mask)], bytes, &fresh)) {
        *window = fresh;
        inside = are_inside(at, mask, bytes, fresh.lo, fresh.hi - fresh.lo);
    }
    if (inside) {
        x->global = mem_counted(x, i, window) ? mask : 0;
        return true;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        bool own = is_own(x, lane, at[lane], bytes);
        bool client = !own && is_global(x, at[lane], bytes);
        bool ok = own || client || mem_lane_ok(x, lane, at[lane], bytes, write);
        int err = !ok ? ERR_ILLEGAL_ADDRESS : at[lane] & (bytes - 1) ? ERR_MISALIGNED : 0;
        global |= (uint32_t)client << lane;
        if (!err) continue;
        warp_fault(&x->w, i, lane, err, at[lane], NULL);
        return false;
    }
    x->global = i->target & CODE_CONSTANT ? 0 : global;
    return true;
}

bool mem_owns(struct warp_ctx *x, const struct code_inst *i, uint64_t addr, uint64_t bytes) {
    struct range *window = &x->windows[CODE_WINDOW(i)];
    if (is_inside(addr, bytes, window->lo, window->hi - window->lo)) return true;
    const struct range *r = ranges_find(x->block->config->ranges, addr, bytes);
    if (r) *window = *r;
    return r != NULL;
}

/* Computes offsets [base register + constant], in 32-bit arithmetic for a 32-bit register. */
static void add_offsets(const struct warp_ctx *x, const struct code_inst *i, uint64_t extra,
                        uint64_t *at) {
    const uint64_t offset = (uint64_t)i->offset + extra;
    if (i->a == CODE_NO_SLOT) {
        for (uint32_t l = 0; l < WARP_LANES; l++)
            at[l] = offset;
    } else if (i->a_bytes == 4) {
        const uint32_t *a = SLOT(const uint32_t, &x->w, i->a);
        for (uint32_t l = 0; l < WARP_LANES; l++)
            at[l] = (uint32_t)(a[l] + (uint32_t)offset);
    } else {
        const uint64_t *a = SLOT(const uint64_t, &x->w, i->a);
        for (uint32_t l = 0; l < WARP_LANES; l++)
            at[l] = a[l] + offset;
    }
}

/* Computes the offset of lane 0 only. */
static uint64_t first_offset(const struct warp_ctx *x, const struct code_inst *i) {
    const uint64_t offset = (uint64_t)i->offset;
    if (i->a == CODE_NO_SLOT) return offset;
    if (i->a_bytes == 8) return SLOT(const uint64_t, &x->w, i->a)[0] + offset;
    return (uint32_t)(SLOT(const uint32_t, &x->w, i->a)[0] + (uint32_t)offset);
}

static bool in_window(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint32_t bytes,
                      uint64_t size, const char *what, uint64_t *at) {
    if (are_inside(at, mask, bytes, 0, size)) return true;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        bool outside = !is_inside(at[lane], bytes, 0, size);
        if (!outside && !(at[lane] & (bytes - 1))) continue;
        warp_fault(&x->w, i, lane, outside ? ERR_ILLEGAL_ADDRESS : ERR_MISALIGNED, at[lane],
                   outside ? what : NULL);
        return false;
    }
    return true;
}

/* Converts offsets in the cluster's shared memory to addresses. */
static bool in_cluster(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint32_t bytes,
                       uint64_t *at) {
    const struct block *b = x->block;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint64_t addr = cluster_of_offset(b->cluster, b->rank, at[lane]);
        bool inside = mem_in_cluster(x, addr, bytes);
        if (!inside || addr & (bytes - 1)) {
            warp_fault(&x->w, i, lane, inside ? ERR_MISALIGNED : ERR_ILLEGAL_ADDRESS, at[lane],
                       inside ? NULL : "outside the cluster's shared memory");
            return false;
        }
        at[lane] = addr;
    }
    return true;
}

bool mem_resolve(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint32_t bytes,
                 bool write, uint64_t *at) {
    x->global = 0;
    switch (i->space) {
    case PTX_SHARED:
        add_offsets(x, i, 0, at);
        if (!in_window(x, i, mask, bytes, x->shared_bytes, "outside the block's shared memory", at))
            return false;
        for (uint32_t l = 0; l < WARP_LANES; l++)
            at[l] += x->shared_base;
        return true;
    case PTX_CLUSTER: add_offsets(x, i, 0, at); return in_cluster(x, i, mask, bytes, at);
    case PTX_LOCAL:
        add_offsets(x, i, i->target & CODE_FRAME_LOCAL ? x->frame->local_offset : 0, at);
        if (!in_window(x, i, mask, bytes, x->local_bytes, "outside the thread's local memory", at))
            return false;
        for (uint32_t l = 0; l < WARP_LANES; l++)
            at[l] += x->local_base + l * x->local_stride;
        return true;
    case PTX_PARAM:
        add_offsets(x, i, 0, at);
        if (write) {
            warp_fault(&x->w, i, (uint32_t)__builtin_ctz(mask), ERR_ILLEGAL_ADDRESS, at[0],
                       "parameters are read-only");
            return false;
        }
        if (!in_window(x, i, mask, bytes, x->param_bytes, "the address is outside the parameters",
                       at))
            return false;
        for (uint32_t l = 0; l < WARP_LANES; l++)
            at[l] += x->param_base;
        return true;
    default: add_offsets(x, i, 0, at); return mem_check(x, i, mask, at, bytes, write);
    }
}

/* Counts the sectors of global memory that lines touch. A sector shared by two neighbours counts
 * once. */
static uint32_t line_sectors(const uint64_t *at, uint32_t count, uint64_t bytes) {
    uint64_t last = UINT64_MAX;
    uint32_t sectors = 0;
    for (uint32_t k = 0; k < count; k++) {
        const uint64_t first = at[k] / SECTOR_BYTES, end = (at[k] + bytes - 1) / SECTOR_BYTES;
        sectors += (uint32_t)(end - first) + (first != last);
        last = end;
    }
    return sectors;
}

/* True if one range contains all lines and the gaps between them, the usual case. */
static bool lines_together(struct warp_ctx *x, const struct code_inst *i, uint64_t first,
                           uint64_t bytes, bool *global) {
    struct range *window = &x->windows[CODE_WINDOW(i)], fresh;
    *global = false;
    if (i->space == PTX_SHARED) return is_inside(first, bytes, 0, x->shared_bytes);
    if (!is_inside(first, bytes, window->lo, window->hi - window->lo)) {
        if (!find_window(x, first, bytes, &fresh)) return false;
        *window = fresh;
    }
    *global = window->lo - x->cluster_base >= x->cluster_bytes;
    return true;
}

/* Checks each line separately: the lane's stack, parameters, or ranges with gaps. */
static bool lines_apart(struct warp_ctx *x, const struct code_inst *i, uint32_t count,
                        uint64_t bytes, uint32_t align, bool write, const uint64_t *at,
                        bool *global) {
    const bool shared = i->space == PTX_SHARED;
    uint32_t outside = 0;
    for (uint32_t k = 0; k < count; k++) {
        const bool ok = shared ? is_inside(at[k], bytes, 0, x->shared_bytes)
                               : mem_lane_ok(x, 0, at[k], bytes, write);
        outside += !shared && !mem_in_cluster(x, at[k], bytes);
        if (ok && !(at[k] & (align - 1))) continue;
        warp_fault(&x->w, i, 0, ok ? ERR_MISALIGNED : ERR_ILLEGAL_ADDRESS, at[k],
                   ok || !shared ? NULL : "outside the block's shared memory");
        return false;
    }
    *global = outside == count;
    return true;
}

bool mem_lines(struct warp_ctx *x, const struct code_inst *i, uint32_t count, uint64_t bytes,
               uint64_t pitch, uint32_t align, bool write, uint64_t *at) {
    const uint64_t first = first_offset(x, i);
    bool global;
    for (uint32_t k = 0; k < count; k++)
        at[k] = first + k * pitch;
    if ((first | pitch) & (align - 1) ||
        !lines_together(x, i, first, (count - 1) * pitch + bytes, &global)) {
        if (!lines_apart(x, i, count, bytes, align, write, at, &global)) return false;
    }
    if (i->space == PTX_SHARED)
        for (uint32_t k = 0; k < count; k++)
            at[k] += x->shared_base;
    if (global) x->sectors += line_sectors(at, count, bytes);
    return true;
}

void mem_count(struct warp_ctx *x, const uint64_t *at) {
    if (x->global) x->sectors += sectors_count(at, x->global);
}

bool mem_copy_part(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t to,
                   uint64_t from, uint32_t count) {
    unsigned char *d = (unsigned char *)(uintptr_t)to;
    bool ok = !count || mem_lane_ok(x, lane, from, count, false);
    if (!ok || (count && from & (i->d_bytes - 1u))) {
        warp_fault(&x->w, i, lane, ok ? ERR_MISALIGNED : ERR_ILLEGAL_ADDRESS, from, NULL);
        return false;
    }
    if (count) memcpy(d, (const void *)(uintptr_t)from, count); /* else `from` may be any address */
    memset(d + count, 0, i->d_bytes - count);
    x->global |= (uint32_t)(count && is_global(x, from, count)) << lane;
    return true;
}
