/* SPDX-License-Identifier: Apache-2.0
 *
 * Device descriptions, which the shim reads from its worker. The input is a list of pieces, each a
 * 16-bit offset and 8 bytes, that overwrite a valid description. If it is accepted, its name is
 * terminated, and its numbers suffice to compute occupancy and to check a launch's shape. If it is
 * rejected, there is a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/cuda/occupancy.h"
#include "test/lib/description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PIECE (sizeof(uint16_t) + sizeof(uint64_t))

static const struct wire_device device = {.name = "a device",
                                          .memory_bytes = 1 << 30,
                                          .sm_count = 4,
                                          .cc_major = 9,
                                          .threads_per_sm = 2048,
                                          .blocks_per_sm = 32,
                                          .regs_per_sm = 65536,
                                          .shared_per_sm_bytes = 228 << 10,
                                          .shared_per_block_bytes = 48 << 10,
                                          .shared_optin_bytes = 227 << 10};

static uint32_t positive(const struct description *d, CUdevice_attribute attribute) {
    int value = 0;
    if (!description_get(d, attribute, &value) || value < 1) abort();
    return (uint32_t)value;
}

static void expect_sound(const struct description *d) {
    if (!memchr(d->name, 0, sizeof(d->name)) || !d->memory_bytes) abort();
    if (positive(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) > DESCRIPTION_BLOCK_Z_MAX) abort();
    if (positive(d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) > DESCRIPTION_GRID_YZ_MAX) abort();
    const struct occupancy_sm sm = {
        .threads = positive(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        .blocks = positive(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        .regs = positive(d, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        .shared_bytes = positive(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .shared_optin_bytes = positive(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        .shared_unit =
            occupancy_shared_unit(positive(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR))};
    const struct occupancy_block block = {positive(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                                          32, 1024};
    uint64_t all = (uint64_t)occupancy_blocks(&sm, &block) *
                   positive(d, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (all > UINT32_MAX) abort();
    for (uint32_t i = 0; i < DESCRIPTION_ATTRIBUTES; i++) {
        int value = 0;
        if (!description_get(d, i, &value) && d->attributes[i]) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct description d;
    const char *why = NULL;
    description_example(&d, &device);
    for (; size >= PIECE; size -= PIECE, data += PIECE) {
        uint16_t at;
        memcpy(&at, data, sizeof(at));
        memcpy((char *)&d + at % (sizeof(d) - sizeof(uint64_t) + 1), data + sizeof(at),
               sizeof(uint64_t));
    }
    int err = description_check(&d, &why);
    if (err > 0 || (err && !*why)) abort();
    if (err) return 0;
    expect_sound(&d);
    description_bound(&d);
    if (description_check(&d, &why)) abort();
    return 0;
}
