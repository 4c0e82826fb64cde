/* SPDX-License-Identifier: Apache-2.0
 *
 * Description of a device by CUDA's driver attributes, and other properties that a job may ask for.
 * The worker makes it once from the device's answers (dev_ops.describe) and shows it to each client
 * in its completion page. The library replaces values that Salus could not honour
 * (shim/device/device_view.c); values that differ between jobs are in wire_device. Plain values,
 * owned by the holder; any thread.
 */
#ifndef PROTO_CUDA_DESCRIPTION_H
#define PROTO_CUDA_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DESCRIPTION_VERSION 1
#define DESCRIPTION_ATTRIBUTES 256u /* numbers of CUdevice_attribute are below this */
#define DESCRIPTION_LIMITS 16u      /* numbers of CUlimit are below this */
#define DESCRIPTION_ELEMENTS 5u     /* sizes of a texture's element: 1, 2, 4, 8, 16 bytes */

/* Limits of a launch record (record.h), and so of a description. */
#define DESCRIPTION_GRID_X_MAX 0x7fffffff
#define DESCRIPTION_GRID_YZ_MAX 65535
#define DESCRIPTION_BLOCK_XY_MAX 1024
#define DESCRIPTION_BLOCK_Z_MAX 64
#define DESCRIPTION_THREADS_MAX 1024

struct description {
    uint32_t version; /* DESCRIPTION_VERSION; other versions have another layout */
    uint32_t bytes;   /* sizeof(struct description) of the writer; new members are at the end */
    char name[64];    /* NUL-terminated */
    uint8_t uuid[16];
    uint8_t luid[8];
    uint32_t luid_nodes;    /* mask; 0: the device has no luid, as on all systems but Windows */
    int32_t driver_version; /* CUDA version of the device's driver: 13000 for 13.0 */
    uint64_t memory_bytes;
    /* Priorities of streams: least is 0, greatest is not above 0. */
    int32_t least_priority, greatest_priority;
    uint32_t sm_partition_least, sm_partition_unit;  /* partitions of a green context; 0: unknown */
    uint64_t texture1d_linear[DESCRIPTION_ELEMENTS]; /* elements at most, by log2 of their bytes */
    uint64_t limits[DESCRIPTION_LIMITS];             /* limits of a new context, by CUlimit */
    uint64_t limits_known;                           /* bit n: limits[n] */
    uint64_t known[DESCRIPTION_ATTRIBUTES / 64];     /* bit n: the driver answers attribute n */
    int32_t attributes[DESCRIPTION_ATTRIBUTES];      /* values by CUdevice_attribute; 0: unknown */
};

/* True if the driver answers the attribute; then *value is its answer, otherwise unchanged. */
static inline bool description_get(const struct description *d, uint32_t attribute, int *value) {
    if (attribute >= DESCRIPTION_ATTRIBUTES || !(d->known[attribute / 64] >> attribute % 64 & 1))
        return false;
    *value = d->attributes[attribute];
    return true;
}

/* Returns 0 if the attribute is unknown. */
static inline int description_attribute(const struct description *d, uint32_t attribute) {
    int value = 0;
    description_get(d, attribute, &value);
    return value;
}

/* `attribute` must be < DESCRIPTION_ATTRIBUTES. */
static inline void description_set(struct description *d, uint32_t attribute, int value) {
    d->known[attribute / 64] |= 1ull << attribute % 64;
    d->attributes[attribute] = value;
}

/* `limit` must be < DESCRIPTION_LIMITS. */
static inline void description_set_limit(struct description *d, uint32_t limit, uint64_t value) {
    d->limits_known |= 1ull << limit;
    d->limits[limit] = value;
}

/* Lowers the device's limits to what launch records can express. */
void description_bound(struct description *d);

/* Checks that a library can use the description, which any process may have written. Returns 0;
 * ERR_VERSION for another version or a shorter struct than ours; -EINVAL with the reason in *why
 * (a literal): an unterminated text, or a number that would make computations fail. */
int description_check(const struct description *d, const char **why);

#endif
