/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker/link/describe.h"

#include <errno.h>
#include <string.h>

#include "proto/cuda/cuda_abi.h"

static bool is_same(const struct description *d, const struct dev_info *i) {
    const struct {
        CUdevice_attribute attribute;
        uint32_t value;
    } both[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i->sm_count},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i->cc_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i->cc_minor},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, i->threads_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, i->blocks_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, i->regs_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, i->shared_per_sm_bytes},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, i->shared_per_block_bytes},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, i->shared_optin_bytes},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, i->shared_reserved_bytes},
    };
    for (size_t k = 0; k < sizeof(both) / sizeof(both[0]); k++)
        if (description_attribute(d, both[k].attribute) != (int)both[k].value) return false;
    return memcmp(d->uuid, i->uuid, sizeof(d->uuid)) == 0;
}

int describe_device(const struct dev_ops *ops, struct dev *dev, const struct dev_info *info,
                    struct description *out, const char **why) {
    memset(out, 0, sizeof(*out));
    ops->describe(dev, out);
    description_bound(out);
    int err = description_check(out, why);
    if (err) return -EINVAL;
    *why = "the device's attributes contradict the information that the worker uses";
    return is_same(out, info) ? 0 : -EINVAL;
}
