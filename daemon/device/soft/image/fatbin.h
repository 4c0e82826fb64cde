/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's fatbin container: a header of 16 bytes and entries, each PTX or a cubin for one
 * architecture, plain or compressed. Reads hostile bytes; keeps pointers into them, owns nothing.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_FATBIN_H
#define DAEMON_DEVICE_SOFT_IMAGE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_MAGIC 0xBA55ED50u
#define FATBIN_HEADER_BYTES 16
#define FATBIN_ENTRY_BYTES 64 /* the part of an entry's header that is always there */
#define FATBIN_MAX_UNPACKED_BYTES ((uint64_t)256 << 20)

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_ELF = 2, FATBIN_LTO = 8 };

enum fatbin_flag {
    FATBIN_LZ4 = 0x2000, /* a raw LZ4 block */
    FATBIN_ZSTD = 0x8000,
    FATBIN_ARCH = 0x100000,   /* sm_90a: for exactly this architecture */
    FATBIN_FAMILY = 0x200000, /* sm_100f: for this family */
};

struct fatbin {
    const unsigned char *at, *end; /* entries still to be read */
    size_t span;                   /* header and entries */
};

struct fatbin_entry {
    uint16_t kind;
    uint32_t target; /* 75 for sm_75 */
    uint64_t flags;
    const unsigned char *payload;
    uint64_t payload_bytes; /* as stored; compressed entries use the first `packed_bytes` of it */
    uint32_t packed_bytes;
    uint64_t unpacked_bytes;
};

/* 0, or ERR_INVALID_IMAGE when `bytes` do not begin with a whole fatbin. */
int fatbin_open(struct fatbin *f, const void *image, size_t bytes);

/* 1 and an entry; 0 at the end; ERR_INVALID_IMAGE. */
int fatbin_next(struct fatbin *f, struct fatbin_entry *e);

/* The entry's content with a NUL behind it, malloc'd: the caller's to free. 0, ERR_INVALID_IMAGE or
 * -ENOMEM. */
int fatbin_unpack(const struct fatbin_entry *e, unsigned char **out, size_t *bytes);

#endif
