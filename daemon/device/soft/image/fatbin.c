/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout of an entry's header: +0 u16 kind, +4 u32 header bytes, +8 u64 payload bytes, +16 u32
 * compressed bytes, +28 u32 architecture, +40 u64 flags, +56 u64 uncompressed bytes. The payload
 * follows the header, the next entry follows the payload.
 */
#include "daemon/device/soft/image/fatbin.h"

#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/err.h"
#include "daemon/device/soft/image/le.h"

int fatbin_open(struct fatbin *f, const void *image, size_t bytes) {
    const unsigned char *p = image;
    if (bytes < FATBIN_HEADER_BYTES || le_32(p) != FATBIN_MAGIC) return ERR_INVALID_IMAGE;
    uint16_t header = le_16(p + 6);
    uint64_t size = le_64(p + 8);
    if (le_16(p + 4) != 1 || header < FATBIN_HEADER_BYTES || header > bytes)
        return ERR_INVALID_IMAGE;
    if (size > bytes - header) return ERR_INVALID_IMAGE;
    f->at = p + header;
    f->end = f->at + size;
    f->span = header + (size_t)size;
    return 0;
}

int fatbin_next(struct fatbin *f, struct fatbin_entry *e) {
    size_t left = (size_t)(f->end - f->at);
    if (left == 0) return 0;
    const unsigned char *p = f->at;
    if (left < FATBIN_ENTRY_BYTES) return ERR_INVALID_IMAGE;
    uint32_t header = le_32(p + 4);
    *e = (struct fatbin_entry){
        .kind = le_16(p),
        .payload_bytes = le_64(p + 8),
        .packed_bytes = le_32(p + 16),
        .target = le_32(p + 28),
        .flags = le_64(p + 40),
        .unpacked_bytes = le_64(p + 56),
    };
    if (header < FATBIN_ENTRY_BYTES || header > left) return ERR_INVALID_IMAGE;
    if (e->payload_bytes > left - header) return ERR_INVALID_IMAGE;
    e->payload = p + header;
    f->at = e->payload + e->payload_bytes;
    return 1;
}

static bool unpack_zstd(const struct fatbin_entry *e, unsigned char *to, size_t bytes) {
    size_t n = ZSTD_decompress(to, bytes, e->payload, e->packed_bytes);
    return !ZSTD_isError(n) && n == bytes;
}

static bool unpack_lz4(const struct fatbin_entry *e, unsigned char *to, size_t bytes) {
    if (e->packed_bytes > INT32_MAX) return false;
    int n =
        LZ4_decompress_safe((const char *)e->payload, (char *)to, (int)e->packed_bytes, (int)bytes);
    return n >= 0 && (size_t)n == bytes;
}

int fatbin_unpack(const struct fatbin_entry *e, unsigned char **out, size_t *bytes) {
    bool packed = e->flags & (FATBIN_ZSTD | FATBIN_LZ4);
    uint64_t size = packed ? e->unpacked_bytes : e->payload_bytes;
    if (size > FATBIN_MAX_UNPACKED_BYTES) return ERR_INVALID_IMAGE;
    if (packed && e->packed_bytes > e->payload_bytes) return ERR_INVALID_IMAGE;
    unsigned char *to = malloc((size_t)size + 1);
    if (!to) return -ENOMEM;
    bool ok = true;
    if (e->flags & FATBIN_ZSTD)
        ok = unpack_zstd(e, to, (size_t)size);
    else if (e->flags & FATBIN_LZ4)
        ok = unpack_lz4(e, to, (size_t)size);
    else
        memcpy(to, e->payload, (size_t)size);
    if (!ok) {
        free(to);
        return ERR_INVALID_IMAGE;
    }
    to[size] = 0;
    *out = to;
    *bytes = (size_t)size;
    return 0;
}
