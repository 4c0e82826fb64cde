/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/exec/transfer.h"

#include <string.h>

#include "common/err.h"

static uint64_t row_bytes(const struct transfer *t) {
    return t->fill ? t->set.width_elems * t->set.elem_bytes : t->copy.width_bytes;
}

static uint64_t row_count(const struct transfer *t) {
    return t->fill ? t->set.height : t->copy.height * t->copy.depth;
}

uint64_t transfer_bytes(const struct transfer *t) {
    return row_bytes(t) * row_count(t);
}

static void fill_elems(unsigned char *dst, uint32_t value, uint32_t elem_bytes, uint64_t bytes) {
    if (elem_bytes == 1 || (value & 0xffff) == (value & 0xff) * 0x101u) {
        uint32_t pattern = (value & 0xff) * 0x01010101u;
        if (elem_bytes < 4 || value == pattern) {
            memset(dst, (int)(value & 0xff), bytes);
            return;
        }
    }
    for (uint64_t i = 0; i < bytes; i += elem_bytes)
        memcpy(dst + i, &value, elem_bytes);
}

/* One piece of one row; both ends are checked before a byte moves. */
static int copy_piece(const struct transfer *t, const struct ranges *ranges, uint64_t bytes,
                      uint64_t *fault_addr) {
    uint64_t y = t->fill ? t->row : t->row % t->copy.height;
    uint64_t z = t->fill ? 0 : t->row / t->copy.height;
    uint64_t dst = t->fill ? t->set.dst + y * t->set.pitch
                           : t->copy.dst + y * t->copy.dst_pitch + z * t->copy.dst_slice;
    dst += t->at;
    *fault_addr = dst;
    if (!ranges_find(ranges, dst, bytes)) return ERR_ILLEGAL_ADDRESS;
    if (t->fill) {
        fill_elems((unsigned char *)(uintptr_t)dst, t->set.value, t->set.elem_bytes, bytes);
        return 0;
    }
    uint64_t src = t->copy.src + y * t->copy.src_pitch + z * t->copy.src_slice + t->at;
    *fault_addr = src;
    if (!ranges_find(ranges, src, bytes)) return ERR_ILLEGAL_ADDRESS;
    memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes);
    return 0;
}

int transfer_step(struct transfer *t, const struct ranges *ranges, uint64_t budget,
                  uint64_t *fault_addr) {
    uint64_t width = row_bytes(t), rows = row_count(t);
    if (width == 0) return 1;
    while (t->row < rows) {
        uint64_t bytes = width - t->at;
        /* Slices end on multiples of 4, the largest element of a fill. */
        if (bytes > budget) bytes = budget & ~3ull;
        if (bytes == 0) return 0;
        int err = copy_piece(t, ranges, bytes, fault_addr);
        if (err) return err;
        t->at += bytes;
        budget -= bytes;
        if (t->at == width) {
            t->at = 0;
            t->row++;
        }
    }
    return 1;
}
