/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/memory/transfer.h"

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

/* Repeats the value to fill eight bytes. */
static uint64_t repeat(uint64_t value, uint32_t elem_bytes) {
    for (uint32_t bits = 8 * elem_bytes; bits < 64; bits *= 2)
        value =
            (value & (UINT64_MAX >> (64 - bits))) << bits | (value & (UINT64_MAX >> (64 - bits)));
    return value;
}

/* Fills with an element. A single element is stored at once: a kernel may be waiting for it. */
static void fill_elems(unsigned char *dst, uint64_t value, uint32_t elem_bytes, uint64_t bytes) {
    uint64_t words = repeat(value, elem_bytes), i = 0;
    if (words == (words & 0xff) * 0x0101010101010101u && bytes > 8) {
        memset(dst, (int)(words & 0xff), bytes);
        return;
    }
    for (; i + 8 <= bytes; i += 8)
        memcpy(dst + i, &words, 8);
    for (; i + 4 <= bytes; i += 4)
        memcpy(dst + i, &words, 4);
    if (i < bytes) memcpy(dst + i, &words, bytes - i);
}

/* Copies or fills one piece of one row. Both ends are checked before any byte moves. */
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
    if (!t->copy.from_caller && !ranges_find(ranges, src, bytes)) return ERR_ILLEGAL_ADDRESS;
    memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes);
    return 0;
}

int transfer_step(struct transfer *t, const struct ranges *ranges, uint64_t budget,
                  uint64_t *fault_addr) {
    uint64_t width = row_bytes(t), rows = row_count(t);
    uint64_t whole = t->fill ? t->set.elem_bytes : 4; /* slices have whole elements */
    if (width == 0) return 1;
    while (t->row < rows) {
        uint64_t bytes = width - t->at;
        if (bytes > budget) bytes = budget - budget % whole;
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
