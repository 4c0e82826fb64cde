/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's fatbin container: a header of 16 bytes and entries. Each entry is PTX or a cubin for one
 * architecture, plain or compressed. The input is hostile; the structs have pointers into it and
 * own nothing.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_FATBIN_H
#define DAEMON_DEVICE_SOFT_IMAGE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_MAGIC 0xBA55ED50u
#define FATBIN_HEADER_BYTES 16
#define FATBIN_ENTRY_BYTES 64 /* the part of an entry's header that always exists */
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
    uint64_t payload_bytes; /* as stored; a compressed entry uses only its first `packed_bytes` */
    uint32_t packed_bytes;
    uint64_t unpacked_bytes;
};

/* Returns 0, or ERR_INVALID_IMAGE if `bytes` do not begin with a complete fatbin. */
int fatbin_open(struct fatbin *f, const void *image, size_t bytes);

/* Returns 1 and an entry, 0 at the end, or ERR_INVALID_IMAGE. */
int fatbin_next(struct fatbin *f, struct fatbin_entry *e);

/* Returns the entry's contents followed by a NUL, malloc'd; the caller frees them. Errors:
 * ERR_INVALID_IMAGE, -ENOMEM. */
int fatbin_unpack(const struct fatbin_entry *e, unsigned char **out, size_t *bytes);

#endif
