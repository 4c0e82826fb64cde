/* SPDX-License-Identifier: Apache-2.0
 *
 * The fatbin container, as measured with nvcc 13.0: a header, then entries, each with a header of
 * its own and a payload behind it.
 */
#ifndef SHIM_CODE_FATBIN_LAYOUT_H
#define SHIM_CODE_FATBIN_LAYOUT_H

#include <stdint.h>

#define FATBIN_MAGIC 0xba55ed50u
#define FATBIN_HEADER_MIN 16u
#define FATBIN_KIND_PTX 1
#define FATBIN_ARCH 0x100000u   /* sm_90a: runs on exactly this architecture */
#define FATBIN_FAMILY 0x200000u /* sm_100f: runs on this family of architectures */

struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* length of the data behind the header */
};

/* The part of an entry's header that every entry has. */
struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t packed_bytes, unknown[2];
    uint32_t target; /* 75 for sm_75 */
    uint32_t more_unknown[2];
    uint64_t flags;
    uint64_t name; /* probably the position of the name */
    uint64_t unpacked_bytes;
};
_Static_assert(sizeof(struct fatbin_entry) == 64, "as nvcc writes it");

#endif
