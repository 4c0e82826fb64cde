/* SPDX-License-Identifier: Apache-2.0
 *
 * Bitmaps besides the driver's own tables.
 */
#include "daemon/device/cuda/memory/cuda_space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "common/err.h"

static bool bit(const uint8_t *bits, uint64_t i) {
    return bits[i / 8] >> i % 8 & 1;
}

static void set_bit(uint8_t *bits, uint64_t i, bool on) {
    uint8_t mask = (uint8_t)(1u << i % 8);
    bits[i / 8] = (uint8_t)(on ? bits[i / 8] | mask : bits[i / 8] & ~mask);
}

static const struct driver *driver_of(const struct dev_space *s) {
    return &s->chunks->context->driver;
}

static int result(struct dev_space *s, CUresult r) {
    return context_result(s->chunks->context, r);
}

static uint64_t host_pieces(const struct dev_space *s) {
    return (s->windows.host_bytes + SPACE_HOST_PIECE - 1) / SPACE_HOST_PIECE;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The address is only a wish. */
static int reserve(struct dev_space *s) {
    struct dev_windows *w = &s->windows;
    CUdeviceptr at = 0;
    int err = result(s, driver_of(s)->cuMemAddressReserve(&at, w->alloc_bytes, s->chunks->granule,
                                                          w->dev_base, 0));
    if (!err) w->dev_base = at;
    return err;
}

static struct dev_space *new_space(struct chunks *chunks, const struct dev_windows *w) {
    struct dev_space *s = calloc(1, sizeof(*s));
    if (!s) return NULL;
    s->chunks = chunks;
    s->windows = *w;
    list_init(&s->globals);
    list_init(&s->references.all);
    s->shown = calloc(1, w->alloc_bytes / chunks->granule / 8 + 1);
    s->pieces = calloc(host_pieces(s) + 1, sizeof(*s->pieces));
    if (s->shown && s->pieces) return s;
    free(s->shown);
    free(s->pieces);
    free(s);
    return NULL;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static bool in_alloc(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    const struct dev_windows *w = &s->windows;
    return addr >= w->dev_base && bytes <= w->alloc_bytes &&
           addr - w->dev_base <= w->alloc_bytes - bytes;
}

static uint64_t place_of(const struct dev_space *s, uint64_t addr) {
    return (addr - s->windows.dev_base) / s->chunks->granule;
}

static bool all_shown(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    uint64_t last = place_of(s, addr + bytes - 1);
    for (uint64_t i = place_of(s, addr); i <= last; i++)
        if (!bit(s->shown, i)) return false;
    return true;
}

/* Unmaps chunks; those that the driver does not unmap stay marked. Returns the first error. */
static int hide(struct dev_space *s, uint64_t addr, uint64_t count) {
    int first = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = addr + i * s->chunks->granule;
        if (!bit(s->shown, place_of(s, at))) continue;
        int err = cuda_chunk_hide(s->chunks, at);
        if (!err) set_bit(s->shown, place_of(s, at), false);
        if (!first) first = err;
    }
    return first;
}

static int show(struct dev_space *s, uint64_t addr, struct dev_chunk *const *chunks, uint32_t count,
                uint32_t *done) {
    int err = 0;
    for (*done = 0; *done < count; ++*done) {
        uint64_t at = addr + *done * s->chunks->granule;
        err = cuda_chunk_show(s->chunks, at, chunks[*done]);
        if (err) return err;
        set_bit(s->shown, place_of(s, at), true);
    }
    return cuda_chunk_allow(s->chunks, addr, count * s->chunks->granule);
}

static bool is_whole(const struct dev_space *s, uint64_t addr, uint32_t count) {
    return count && (addr - s->windows.dev_base) % s->chunks->granule == 0 &&
           in_alloc(s, addr, count * s->chunks->granule);
}

/* Makes all later work of the space wait until then. */
static int note_clear(struct dev_space *s) {
    if (cuda_chunk_mark(s->chunks, &s->cleared)) return cuda_chunk_settle(s->chunks);
    s->clear = s->chunks->clears;
    return 0;
}

int cuda_space_chunk_map(struct dev_space *s, uint64_t addr, struct dev_chunk *const *chunks,
                         uint32_t count) {
    uint32_t done = 0;
    if (!is_whole(s, addr, count)) return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        if (bit(s->shown, place_of(s, addr) + i)) return -EEXIST;
    bool pending = false;
    int err = cuda_chunk_begin_clear(s->chunks, chunks, count, &pending);
    if (!err) err = show(s, addr, chunks, count, &done);
    if (!err && pending) err = note_clear(s);
    if (err) hide(s, addr, done);
    return err;
}

int cuda_space_follow(struct dev_space *s, CUstream stream, uint64_t *seen) {
    if (*seen == s->clear) return 0;
    *seen = s->clear;
    if (!cuda_chunk_pending(s->chunks, s->clear)) return 0;
    return cuda_chunk_follow(s->chunks, s->cleared, stream);
}

int cuda_space_chunk_unmap(struct dev_space *s, uint64_t addr, uint32_t count) {
    if (!is_whole(s, addr, count)) return -EINVAL;
    if (!all_shown(s, addr, count * s->chunks->granule)) return -ENOENT;
    return hide(s, addr, count);
}

/* ---- host memory ----------------------------------------------------------------------------- */

static bool in_host(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    const struct dev_windows *w = &s->windows;
    return addr >= w->host_base && bytes <= w->host_bytes &&
           addr - w->host_base <= w->host_bytes - bytes;
}

static enum space_piece piece(const struct dev_space *s, uint64_t i) {
    return (enum space_piece)atom_load_acquire(&s->pieces[i]);
}

/* Kernels use the client's own addresses, so another address on the device is an error. */
static int register_pieces(struct dev_space *s, uint64_t i, uint64_t count) {
    const struct driver *d = driver_of(s);
    uint64_t start = i * SPACE_HOST_PIECE, left = s->windows.host_bytes - start;
    uint64_t bytes = count * SPACE_HOST_PIECE;
    void *at = (void *)(uintptr_t)(s->windows.host_base + start);
    CUdeviceptr seen = 0;
    int err = result(
        s, d->cuMemHostRegister_v2(at, left < bytes ? left : bytes,
                                   CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    if (err) return err;
    err = result(s, d->cuMemHostGetDevicePointer_v2(&seen, at, 0));
    if (!err && seen != (uintptr_t)at) err = -EEXIST;
    if (err) {
        result(s, d->cuMemHostUnregister(at));
        return err;
    }
    for (uint64_t k = count; k-- > 0;)
        atom_store_release(&s->pieces[i + k], (uint8_t)(k ? PIECE_NEXT : PIECE_FIRST));
    return 0;
}

/* Number of unregistered pieces from there on. */
static uint64_t hidden(const struct dev_space *s, uint64_t i, uint64_t last) {
    uint64_t count = 0;
    while (count < SPACE_HOST_PIECES && i + count <= last && !piece(s, i + count))
        count++;
    return count;
}

int cuda_space_host_show(struct dev_space *s, uint64_t addr, uint64_t bytes) {
    if (!bytes || !in_host(s, addr, bytes)) return -EINVAL;
    int err = context_enter(s->chunks->context);
    uint64_t i = (addr - s->windows.host_base) / SPACE_HOST_PIECE;
    uint64_t last = (addr - s->windows.host_base + bytes - 1) / SPACE_HOST_PIECE;
    while (!err && i <= last) {
        uint64_t count = hidden(s, i, last);
        if (count) err = register_pieces(s, i, count);
        i += count ? count : 1;
    }
    return err;
}

static bool all_registered(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    uint64_t last = (addr - s->windows.host_base + bytes - 1) / SPACE_HOST_PIECE;
    for (uint64_t i = (addr - s->windows.host_base) / SPACE_HOST_PIECE; i <= last; i++)
        if (!piece(s, i)) return false;
    return true;
}

bool cuda_space_host_shown(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    return bytes && in_host(s, addr, bytes) && all_registered(s, addr, bytes);
}

uint64_t cuda_space_room(const struct dev_space *s, uint64_t addr) {
    if (!in_host(s, addr, 1)) return UINT64_MAX;
    uint64_t at = addr - s->windows.host_base, end = at / SPACE_HOST_PIECE + 1;
    while (end < host_pieces(s) && piece(s, end) == PIECE_NEXT)
        end++;
    return end * SPACE_HOST_PIECE - at;
}

/* ---- creating and destroying spaces -------------------------------------------------------------
 */

int cuda_space_create(struct chunks *chunks, struct dev_windows *w, struct dev_space **out) {
    *out = NULL;
    if ((w->dev_base | w->alloc_bytes) % chunks->granule) return -EINVAL;
    struct dev_space *s = new_space(chunks, w);
    if (!s) return -ENOMEM;
    int err = reserve(s);
    if (err) s->windows.alloc_bytes = 0;
    /* The first piece shows whether the device has the host window at its address. */
    if (!err) err = cuda_space_host_show(s, w->host_base, 1);
    if (err) {
        cuda_space_destroy(s);
        return err;
    }
    w->dev_base = s->windows.dev_base;
    *out = s;
    return 0;
}

static void unregister_all(struct dev_space *s) {
    for (uint64_t i = 0; i < host_pieces(s); i++) {
        if (piece(s, i) != PIECE_FIRST) continue;
        uint64_t addr = s->windows.host_base + i * SPACE_HOST_PIECE;
        result(s, driver_of(s)->cuMemHostUnregister((void *)(uintptr_t)addr));
    }
}

void cuda_space_destroy(struct dev_space *s) {
    if (!s) return;
    unregister_all(s);
    hide(s, s->windows.dev_base, s->windows.alloc_bytes / s->chunks->granule);
    if (s->windows.alloc_bytes)
        result(s, driver_of(s)->cuMemAddressFree(s->windows.dev_base, s->windows.alloc_bytes));
    cuda_space_remove_globals(s, NULL);
    if (s->cleared) result(s, driver_of(s)->cuEventDestroy_v2(s->cleared));
    free(s->shown);
    free(s->pieces);
    free(s);
}

void cuda_space_lacks(struct dev_space *s, const char *why) {
    if (!s->lacks[0]) snprintf(s->lacks, sizeof(s->lacks), "%s", why);
}

const char *cuda_space_unrestorable(const struct dev_space *s) {
    return s->lacks[0] ? s->lacks : NULL;
}

/* ---- variables ------------------------------------------------------------------------------- */

int cuda_space_add_global(struct dev_space *s, const struct dev_module *module, uint64_t addr,
                          uint64_t bytes) {
    if (cuda_space_in_globals(s, addr, bytes)) return 0;
    struct global *g = calloc(1, sizeof(*g));
    if (!g) return -ENOMEM;
    *g = (struct global){.module = module, .addr = addr, .bytes = bytes};
    list_append(&s->globals, &g->link);
    return 0;
}

void cuda_space_remove_globals(struct dev_space *s, const struct dev_module *module) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &s->globals) {
        struct global *g = list_entry(pos, struct global, link);
        if (module && g->module != module) continue;
        list_remove(&g->link);
        free(g);
    }
}

bool cuda_space_in_globals(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    const struct list *pos;
    list_each(pos, &s->globals) {
        const struct global *g = list_entry(pos, struct global, link);
        if (addr >= g->addr && bytes <= g->bytes && addr - g->addr <= g->bytes - bytes) return true;
    }
    return false;
}

bool cuda_space_has(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    if (!bytes) return true;
    if (in_alloc(s, addr, bytes)) return all_shown(s, addr, bytes);
    if (in_host(s, addr, bytes)) return all_registered(s, addr, bytes);
    return cuda_space_in_globals(s, addr, bytes);
}
