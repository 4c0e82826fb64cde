/* SPDX-License-Identifier: Apache-2.0
 *
 * What a device is, in the words of CUDA's driver: every attribute, and what else a job may ask of
 * it. Made once by the worker from what the device says of itself (dev_ops.describe), and shown to
 * each client in its completion page; what a job is told instead of it, because Salus could not
 * keep it, the library decides (shim/device/shown.c), and what differs from job to job is in
 * wire_device. Plain values: whoever has one owns it; any thread.
 */
#ifndef PROTO_CUDA_DESCRIPTION_H
#define PROTO_CUDA_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DESCRIPTION_VERSION 1
#define DESCRIPTION_ATTRIBUTES 256u /* numbers of CUdevice_attribute are below this */
#define DESCRIPTION_LIMITS 16u      /* numbers of CUlimit */
#define DESCRIPTION_ELEMENTS 5u     /* sizes of a texture's element: 1, 2, 4, 8, 16 bytes */

/* The most that the record of a launch may say (record.h), and so a description. */
#define DESCRIPTION_GRID_X_MAX 0x7fffffff
#define DESCRIPTION_GRID_YZ_MAX 65535
#define DESCRIPTION_BLOCK_XY_MAX 1024
#define DESCRIPTION_BLOCK_Z_MAX 64
#define DESCRIPTION_THREADS_MAX 1024

struct description {
    uint32_t version; /* DESCRIPTION_VERSION; another has another layout */
    uint32_t bytes;   /* sizeof(struct description) of who made it; what is new is at the end */
    char name[64];    /* NUL-terminated */
    uint8_t uuid[16];
    uint8_t luid[8];
    uint32_t luid_nodes;    /* mask; 0: the device has no luid, as everywhere but on Windows */
    int32_t driver_version; /* that the device's driver is of: 13000 for 13.0 */
    uint64_t memory_bytes;
    int32_t least_priority, greatest_priority;       /* of streams: 0, and not above it */
    uint32_t sm_partition_least, sm_partition_unit;  /* of a green context; 0: not said */
    uint64_t texture1d_linear[DESCRIPTION_ELEMENTS]; /* elements at most, by log2 of their bytes */
    uint64_t limits[DESCRIPTION_LIMITS];             /* of a new context, by CUlimit */
    uint64_t limits_known;                           /* bit n: limits[n] */
    uint64_t known[DESCRIPTION_ATTRIBUTES / 64];     /* bit n: the driver answers attribute n */
    int32_t attributes[DESCRIPTION_ATTRIBUTES];      /* by CUdevice_attribute; 0: not known */
};

/* Whether the driver answers the attribute; then *value is what it says, otherwise unchanged. */
static inline bool description_get(const struct description *d, uint32_t attribute, int *value) {
    if (attribute >= DESCRIPTION_ATTRIBUTES || !(d->known[attribute / 64] >> attribute % 64 & 1))
        return false;
    *value = d->attributes[attribute];
    return true;
}

/* 0 where it is not known. */
static inline int description_attribute(const struct description *d, uint32_t attribute) {
    int value = 0;
    description_get(d, attribute, &value);
    return value;
}

/* `attribute` < DESCRIPTION_ATTRIBUTES. */
static inline void description_set(struct description *d, uint32_t attribute, int value) {
    d->known[attribute / 64] |= 1ull << attribute % 64;
    d->attributes[attribute] = value;
}

/* `limit` < DESCRIPTION_LIMITS. */
static inline void description_set_limit(struct description *d, uint32_t limit, uint64_t value) {
    d->limits_known |= 1ull << limit;
    d->limits[limit] = value;
}

/* Lowers what a device takes to what records can say of it. */
void description_bound(struct description *d);

/* Whether a library can go by it, whoever made it: 0; ERR_VERSION, of another version or shorter
 * than ours; -EINVAL, with what is wrong in *why (a literal): text without an end, or a number that
 * nothing could be computed with. */
int description_check(const struct description *d, const char **why);

#endif
