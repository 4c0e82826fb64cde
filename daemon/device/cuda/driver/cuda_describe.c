/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/cuda/driver/cuda_describe.h"

#include <string.h>

static void add_attributes(struct context *c, struct description *out) {
    for (uint32_t i = 1; i < DESCRIPTION_ATTRIBUTES; i++) {
        int value = 0;
        CUresult r = c->driver.cuDeviceGetAttribute(&value, (CUdevice_attribute)i, c->device);
        if (!r) description_set(out, i, value);
    }
}

static void add_limits(struct context *c, struct description *out) {
    for (uint32_t i = 0; i < DESCRIPTION_LIMITS; i++) {
        size_t value = 0;
        if (!c->driver.cuCtxGetLimit(&value, (CUlimit)i)) description_set_limit(out, i, value);
    }
}

/* Adds textures with one channel of 8, 16, 32 bits, and with two and four of these. */
static void add_textures(struct context *c, struct description *out) {
    static const struct {
        CUarray_format format;
        unsigned int channels;
    } elements[DESCRIPTION_ELEMENTS] = {{CU_AD_FORMAT_UNSIGNED_INT8, 1},
                                        {CU_AD_FORMAT_UNSIGNED_INT16, 1},
                                        {CU_AD_FORMAT_UNSIGNED_INT32, 1},
                                        {CU_AD_FORMAT_UNSIGNED_INT32, 2},
                                        {CU_AD_FORMAT_UNSIGNED_INT32, 4}};
    for (uint32_t i = 0; i < DESCRIPTION_ELEMENTS; i++) {
        size_t most = 0;
        if (!c->driver.cuDeviceGetTexture1DLinearMaxWidth(&most, elements[i].format,
                                                          elements[i].channels, c->device))
            out->texture1d_linear[i] = most;
    }
}

static void add_partition(struct context *c, struct description *out) {
    CUdevResource sms;
    memset(&sms, 0, sizeof(sms));
    if (c->driver.cuDeviceGetDevResource(c->device, &sms, CU_DEV_RESOURCE_TYPE_SM)) return;
    out->sm_partition_least = sms.sm.minSmPartitionSize;
    out->sm_partition_unit = sms.sm.smCoscheduledAlignment;
}

void cuda_describe(struct context *c, const struct dev_info *info, struct description *out) {
    *out = (struct description){.version = DESCRIPTION_VERSION,
                                .bytes = sizeof(*out),
                                .driver_version = c->driver.version,
                                .memory_bytes = info->memory_bytes,
                                .least_priority = c->least_priority,
                                .greatest_priority = c->greatest_priority};
    memcpy(out->name, info->name, sizeof(out->name));
    memcpy(out->uuid, info->uuid, sizeof(out->uuid));
    add_attributes(c, out);
    add_limits(c, out);
    add_textures(c, out);
    add_partition(c, out);
}
