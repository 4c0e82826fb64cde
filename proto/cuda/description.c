/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/cuda/description.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "common/err.h"
#include "proto/cuda/cuda_abi.h"

/* Bounds of the numbers with which launches and occupancy are computed. The first ones are those
 * that description_bound lowers. */
static const struct {
    CUdevice_attribute attribute;
    int least, most;
} bounds[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1, DESCRIPTION_THREADS_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1, DESCRIPTION_BLOCK_XY_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1, DESCRIPTION_BLOCK_XY_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 1, DESCRIPTION_BLOCK_Z_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 1, DESCRIPTION_GRID_X_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 1, DESCRIPTION_GRID_YZ_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 1, DESCRIPTION_GRID_YZ_MAX},
    /* Equal on every device, and all programs rely on it. */
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32, 32},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1, 1 << 16},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1, 99},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0, 9},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 32, 1 << 16},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 1, 1 << 16},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 1, 1 << 24},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 1, 1 << 24},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 1, 1 << 28},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1, 1 << 28},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 1, 1 << 28},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 0, 1 << 16},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0, INT_MAX},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0, 255},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0, 31},
};

#define PARTITION_MAX 65536u
#define SHAPES 7u /* CUDA numbers them 1 to 7 */

void description_bound(struct description *d) {
    for (size_t i = 0; i < SHAPES; i++)
        if (d->attributes[bounds[i].attribute] > bounds[i].most)
            d->attributes[bounds[i].attribute] = bounds[i].most;
}

static bool in_bounds(const struct description *d) {
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        int value = 0; /* an older driver may not know an attribute that was reserved then */
        if (!description_get(d, bounds[i].attribute, &value) && bounds[i].least) return false;
        if (value < bounds[i].least || value > bounds[i].most) return false;
    }
    return true;
}

/* True if all unknown numbers are 0, for code that reads the tables directly. */
static bool is_clean(const struct description *d) {
    int value;
    for (uint32_t i = 0; i < DESCRIPTION_ATTRIBUTES; i++)
        if (!description_get(d, i, &value) && d->attributes[i]) return false;
    return !description_get(d, 0, &value) && !(d->limits_known >> DESCRIPTION_LIMITS);
}

int description_check(const struct description *d, const char **why) {
    *why = "it is of another version";
    if (d->version != DESCRIPTION_VERSION || d->bytes < sizeof(*d)) return ERR_VERSION;
    *why = "its name has no end";
    if (!memchr(d->name, 0, sizeof(d->name))) return -EINVAL;
    *why = "it has no memory";
    if (!d->memory_bytes) return -EINVAL;
    *why = "its streams' priorities are none of CUDA's";
    if (d->least_priority != 0 || d->greatest_priority > 0) return -EINVAL;
    *why = "its multiprocessors cannot be parted so";
    if (d->sm_partition_least > PARTITION_MAX || d->sm_partition_unit > PARTITION_MAX)
        return -EINVAL;
    *why = "it has values that are not known";
    if (!is_clean(d)) return -EINVAL;
    *why = "an attribute that launches depend on is missing or out of range";
    return in_bounds(d) ? 0 : -EINVAL;
}
