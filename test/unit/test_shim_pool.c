/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools: when a freed block is handed out again, to which stream, and what a pool that was
 * destroyed still owes.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "shim/connection/state.h"
#include "shim/memory/mem.h"
#include "test/lib/shim/rig.h"

static CUstream a, b;

static void begin(void) {
    rig_begin();
    cr_assert_eq(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_pool, .init = begin, .timeout = 60);

static CUmemoryPool make(uint64_t max_bytes) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                            .maxSize = max_bytes};
    CUmemoryPool pool;
    cr_assert_eq(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    return pool;
}

static CUdeviceptr take(CUmemoryPool pool, uint64_t bytes, CUstream s) {
    CUdeviceptr addr = 0;
    cr_assert_eq(cuMemAllocFromPoolAsync(&addr, bytes, pool, s), CUDA_SUCCESS);
    return addr;
}

static uint64_t get(CUmemoryPool pool, CUmemPool_attribute attr) {
    uint64_t value = 0;
    cr_assert_eq(cuMemPoolGetAttribute(pool, attr, &value), CUDA_SUCCESS);
    return value;
}

/* Something that stream has yet to do. */
static void occupy(CUstream s) {
    cr_assert_eq(cuMemsetD8Async(take(make(0), 64, s), 0, 64, s), CUDA_SUCCESS);
}

Test(shim_pool, a_freed_block_is_its_streams_at_once_and_anothers_later) {
    CUmemoryPool pool = make(0);
    CUdeviceptr first = take(pool, 1000, a);
    rig_hold_streams(true);
    occupy(a);
    cr_assert_eq(cuMemFreeAsync(first, a), CUDA_SUCCESS);
    cr_assert_neq(take(pool, 1000, b), first, "the other stream might be ahead");
    cr_assert_eq(take(pool, 1000, a), first);
    cr_assert_eq(cuMemFreeAsync(first, a), CUDA_SUCCESS);
    rig_hold_streams(false);
    rig_count();
    cr_assert_eq(take(pool, 900, b), first, "its last use is complete, and 900 need the same");
}

Test(shim_pool, a_pool_counts_what_is_out_and_what_it_keeps) {
    CUmemoryPool pool = make(0);
    uint64_t all = ~0ull;
    cr_assert_eq(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all),
                 CUDA_SUCCESS);
    CUdeviceptr first = take(pool, 1000, a), second = take(pool, RIG_GRANULE, a);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024 + RIG_GRANULE);
    cr_assert_eq(cuMemFreeAsync(second, a), CUDA_SUCCESS);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024 + RIG_GRANULE);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 1024 + RIG_GRANULE);
    cr_assert_eq(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 1024);
    cr_assert_eq(cuMemFreeAsync(first, a), CUDA_SUCCESS);
}

Test(shim_pool, no_more_than_its_bound) {
    CUmemoryPool pool = make(4096);
    CUdeviceptr addr, first = take(pool, 2048, a);
    take(pool, 2048, a);
    cr_assert_eq(cuMemAllocFromPoolAsync(&addr, 1, pool, a), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(cuMemFreeAsync(first, a), CUDA_SUCCESS);
    cr_assert_eq(take(pool, 2048, a), first);
}

Test(shim_pool, a_destroyed_pool_goes_on_until_its_last_block) {
    CUmemoryPool pool = make(0);
    struct mem_block found;
    uint64_t value;
    CUdeviceptr first = take(pool, 1000, a), second = take(pool, 1000, a);
    cr_assert_eq(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value),
                 CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemFreeAsync(first, a), CUDA_SUCCESS);
    CUmemoryPool other = make(0);
    cr_assert_eq(cuMemFreeAsync(second, a), CUDA_SUCCESS, "it is still that pool's");
    cr_assert_eq(get(other, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    cr_assert_not(mem_find(first, &found), "what was kept has gone with it");
    cr_assert_not(mem_find(second, &found));
    cr_assert_eq(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_pool, the_devices_own_cannot_be_destroyed) {
    CUmemoryPool own, chosen, mine = make(0);
    cr_assert_eq(cuDeviceGetDefaultMemPool(&own, 0), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolDestroy(own), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuDeviceSetMemPool(0, mine), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolDestroy(mine), CUDA_SUCCESS);
    cr_assert_eq(cuDeviceGetMemPool(&chosen, 0), CUDA_SUCCESS);
    cr_assert_eq(chosen, own, "the choice goes back to it");
}
