/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed memory: the program's hints are reported in CUDA's terms, and none of them is sent to the
 * worker.
 */
#include <criterion/criterion.h>

#include "proto/gen/prototypes.h"
#include "test/lib/shim/rig.h"

#define BYTES 65536

static CUdeviceptr block;
static CUstream stream;
static const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 77};
static const CUmemLocation node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 1};

static void begin(void) {
    rig_begin();
    cr_assert_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuMemAllocManaged(&block, BYTES, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    rig_forget();
}

static void end(void) {
    cr_expect_eq(rig_count(), 0, "the worker was told something");
}

TestSuite(shim_managed, .init = begin, .fini = end, .timeout = 60);

static int ask(CUmem_range_attribute attribute, uint64_t offset, uint64_t bytes) {
    int value = -99;
    cr_assert_eq(cuMemRangeGetAttribute(&value, sizeof(value), attribute, block + offset, bytes),
                 CUDA_SUCCESS);
    return value;
}

static CUresult advise(CUmem_advise advice, CUmemLocation place, uint64_t offset, uint64_t bytes) {
    return cuMemAdvise_v2(block + offset, bytes, advice, place);
}

Test(shim_managed, advice_holds_for_ranges) {
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, BYTES), 0);
    cr_assert_eq(advise(CU_MEM_ADVISE_SET_READ_MOSTLY, host, 4096, 8192), CUDA_SUCCESS);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 4096, 8192), 1);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, BYTES), 0, "not all of it");
    cr_assert_eq(advise(CU_MEM_ADVISE_UNSET_READ_MOSTLY, host, 8192, 4096), CUDA_SUCCESS);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 4096, 4096), 1);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 4096, 8192), 0);
}

Test(shim_managed, places_are_told_as_they_were_given) {
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, BYTES), CU_DEVICE_INVALID);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, 0, BYTES),
                 CU_MEM_LOCATION_TYPE_INVALID);
    cr_assert_eq(advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device, 0, BYTES), CUDA_SUCCESS);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, BYTES), 0);
    cr_assert_eq(advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host, 0, 4096), CUDA_SUCCESS);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 4096), CU_DEVICE_CPU);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, BYTES), CU_DEVICE_INVALID);
    cr_assert_eq(advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node, 0, 4096), CUDA_SUCCESS);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, 0, 4096),
                 CU_MEM_LOCATION_TYPE_HOST_NUMA);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, 0, 4096), 1);
    cr_assert_eq(cuMemAdvise(block, BYTES, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0),
                 CUDA_SUCCESS);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 4096), CU_DEVICE_INVALID);
}

Test(shim_managed, who_uses_it_is_a_list) {
    int users[3];
    cr_assert_eq(cuMemAdvise(block, BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, 0), CUDA_SUCCESS);
    cr_assert_eq(cuMemRangeGetAttribute(users, sizeof(users), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                                        block, BYTES),
                 CUDA_SUCCESS);
    cr_expect(users[0] == 0 && users[1] == CU_DEVICE_INVALID && users[2] == CU_DEVICE_INVALID);
    cr_assert_eq(cuMemAdvise(block, BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU),
                 CUDA_SUCCESS);
    cr_assert_eq(cuMemRangeGetAttribute(users, sizeof(users), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                                        block, BYTES),
                 CUDA_SUCCESS);
    cr_expect(users[0] == 0 && users[1] == CU_DEVICE_CPU && users[2] == CU_DEVICE_INVALID);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, 0, BYTES), 0, "as many as fit");
    cr_expect_eq(cuMemRangeGetAttribute(users, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, block, 64),
                 CUDA_ERROR_INVALID_VALUE);
}

Test(shim_managed, prefetches_are_remembered) {
    CUdeviceptr two[] = {block, block + 8192, block + 16384};
    size_t sizes[] = {4096, 4096, 4096}, firsts[] = {0, 2};
    CUmemLocation places[] = {host, device};
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, BYTES), CU_DEVICE_INVALID);
    cr_assert_eq(cuMemPrefetchAsync_v2(block, BYTES, device, 0, stream), CUDA_SUCCESS);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, BYTES), 0);
    cr_assert_eq(cuMemPrefetchBatchAsync(two, sizes, 3, places, firsts, 2, 0, stream),
                 CUDA_SUCCESS);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 8192, 4096), CU_DEVICE_CPU);
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, 16384, 4096),
                 CU_MEM_LOCATION_TYPE_DEVICE);
    cr_assert_eq(cuMemDiscardBatchAsync(two, sizes, 3, 0, stream), CUDA_SUCCESS);
    firsts[1] = 3;
    cr_expect_eq(cuMemPrefetchBatchAsync(two, sizes, 3, places, firsts, 2, 0, stream),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemDiscardBatchAsync(two, sizes, 3, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    sizes[1] = BYTES;
    cr_expect_eq(cuMemDiscardBatchAsync(two, sizes, 3, 0, stream), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_managed, errors_are_cudas) {
    int value;
    size_t size = sizeof(value);
    void *data = &value;
    CUmem_range_attribute attribute = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
    const CUmemLocation elsewhere = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    cr_expect_eq(advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, elsewhere, 0, 64),
                 CUDA_ERROR_INVALID_DEVICE);
    cr_expect_eq(advise((CUmem_advise)99, device, 0, 64), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(advise(CU_MEM_ADVISE_SET_READ_MOSTLY, device, 0, BYTES + 1),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemPrefetchAsync(block, 64, 1, stream), CUDA_ERROR_INVALID_DEVICE);
    cr_expect_eq(cuMemRangeGetAttribute(&value, 8, attribute, block, 64), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemRangeGetAttribute(&value, 4, attribute, 0x1000, 64),
                 CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemRangeGetAttributes(&data, &size, &attribute, 1, block, 64), CUDA_SUCCESS);
    cr_expect_eq(value, 0);
}

Test(shim_managed, a_stream_has_all_of_a_block) {
    const unsigned int global = CU_MEM_ATTACH_GLOBAL, single = CU_MEM_ATTACH_SINGLE;
    cr_expect_eq(cuStreamAttachMemAsync(stream, block, 0, single), CUDA_SUCCESS);
    cr_expect_eq(cuStreamAttachMemAsync(NULL, block, BYTES, global), CUDA_SUCCESS);
    cr_expect_eq(cuStreamAttachMemAsync(NULL, block, 0, single), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamAttachMemAsync(stream, block, 0, 3), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamAttachMemAsync(stream, block, 4096, global), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamAttachMemAsync(stream, block + 64, 0, global), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_managed, a_new_block_has_nothing_said_of_it) {
    cr_assert_eq(advise(CU_MEM_ADVISE_SET_READ_MOSTLY, host, 0, BYTES), CUDA_SUCCESS);
    CUdeviceptr again;
    cr_assert_eq(cuMemFree_v2(block), CUDA_SUCCESS);
    cr_assert_eq(cuMemAllocManaged(&again, BYTES, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    cr_assert_eq(again, block, "its place");
    cr_expect_eq(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, BYTES), 0);
}

Test(shim_managed, each_piece_is_where_it_was_last_wanted) {
    CUmemLocation got[4] = {{.type = 99}, {.type = 99}, {.type = 99}, {.type = 99}};
    cr_assert_eq(cuMemPrefetchAsync_v2(block + 4096, 4096, device, 0, stream), CUDA_SUCCESS);
    cr_assert_eq(cuMemGetLocationInfo(block, 3 * 4096 - 64, 4096, 64, got), CUDA_SUCCESS);
    cr_expect(got[0].type == CU_MEM_LOCATION_TYPE_HOST && got[2].type == CU_MEM_LOCATION_TYPE_HOST);
    cr_expect(got[1].type == CU_MEM_LOCATION_TYPE_DEVICE && got[1].id == 0);
    cr_expect_eq(got[3].type, 99, "three pieces, the last one shorter");
    got[2].type = 99;
    cr_assert_eq(cuMemGetLocationInfo(block, 8192, 4096, 0, got), CUDA_SUCCESS);
    cr_expect_eq(got[2].type, 99, "two");
    cr_expect_eq(cuMemGetLocationInfo(block, 4096, 0, 0, got), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemGetLocationInfo(block, 4096, 4097, 0, got), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemGetLocationInfo(block, 4096, 64, 65, got), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemGetLocationInfo(block, BYTES + 1, 64, 0, got), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemGetLocationInfo(0x1000, 4096, 64, 0, got), CUDA_ERROR_INVALID_VALUE);
}
