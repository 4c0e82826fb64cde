/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of kernels in a cubin's .nv.info sections: records of {u8 format, u8 attribute, u16
 * value or length}. The input is hostile; the structs own nothing.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_NVINFO_H
#define DAEMON_DEVICE_SOFT_IMAGE_NVINFO_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/image/image_kernel.h"

enum nvinfo_attribute {
    NVINFO_MAX_THREADS = 0x05, /* u32 x, y, z */
    NVINFO_REQ_THREADS = 0x10, /* u32 x, y, z */
    NVINFO_FRAME_BYTES = 0x11, /* u32 symbol, u32 bytes */
    NVINFO_MIN_STACK = 0x12,   /* u32 symbol, u32 bytes */
    NVINFO_PARAM = 0x17,       /* +4 u16 ordinal, +6 u16 offset, +8 u32 size << 18 */
    NVINFO_PARAM_BYTES = 0x19, /* u16 in the record's value */
    NVINFO_MAX_STACK = 0x23,   /* u32 symbol, u32 bytes */
    NVINFO_REGS = 0x2f,        /* u32 symbol, u32 registers */
    NVINFO_PARAM_LARGE = 0x45, /* as NVINFO_PARAM, +8 the plain size */
};

struct nvinfo {
    const unsigned char *at, *end;
};

struct nvinfo_record {
    uint8_t format, attribute;
    uint16_t value;            /* formats 1 to 3 */
    const unsigned char *data; /* format 4: `bytes` of it */
    uint32_t bytes;
};

void nvinfo_open(struct nvinfo *n, const void *section, size_t bytes);

/* Returns 1 and a record, 0 at the end, or ERR_INVALID_IMAGE. */
int nvinfo_next(struct nvinfo *n, struct nvinfo_record *r);

/* Fills parameters and launch bounds of `k` from its own section (".nv.info.<kernel>"). Returns 0,
 * ERR_INVALID_IMAGE or -ENOMEM. `params` can be passed to free() in any case. */
int nvinfo_kernel(struct image_kernel *k, const void *section, size_t bytes);

#endif
