/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools: when a freed block is reused, by which stream, and the remaining work of a destroyed pool.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "shim/connection/state.h"
#include "shim/handle.h"
#include "shim/memory/mem.h"
#include "test/lib/shim/rig.h"

#define GROWTH (32ull << 20) /* growth step of pools that programs see */

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

/* Submits work to the stream, which does not complete while the rig holds streams. */
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
    CUdeviceptr first = take(pool, 1000, a), second = take(pool, GROWTH, a);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024 + GROWTH);
    cr_assert_eq(cuMemFreeAsync(second, a), CUDA_SUCCESS);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024 + GROWTH);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * GROWTH);
    cr_assert_eq(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), GROWTH);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 2 * GROWTH);
    cr_assert_eq(cuMemFreeAsync(first, a), CUDA_SUCCESS);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), GROWTH, "it is kept");
    cr_assert_eq(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    cr_assert_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
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

/* cuSPARSE frees memory in stream order that it allocated before it had a stream. */
Test(shim_pool, plain_memory_is_freed_in_a_streams_order) {
    struct mem_block found;
    CUdeviceptr plain, other;
    CUmemoryPool pool = make(0);
    cr_assert_eq(cuMemAlloc_v2(&plain, 1000), CUDA_SUCCESS);
    rig_hold_streams(true);
    occupy(a);
    cr_assert_eq(cuMemFreeAsync(plain + 512, a), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemFreeAsync(plain, a), CUDA_SUCCESS);
    cr_expect_eq(cuMemFreeAsync(plain, a), CUDA_ERROR_INVALID_VALUE, "once");
    cr_expect_eq(cuMemFree_v2(plain), CUDA_ERROR_INVALID_VALUE);
    cr_expect_neq(take(pool, 1000, a), plain, "it is no pool's");
    cr_assert_eq(cuMemAlloc_v2(&other, 1000), CUDA_SUCCESS);
    cr_expect_neq(other, plain, "the stream may use it still");
    cr_assert(mem_find(plain, &found));
    rig_hold_streams(false);
    cr_assert_eq(cuStreamSynchronize(a), CUDA_SUCCESS);
    cr_expect_not(mem_find(plain, &found), "without a threshold");
    for (int again = 0; again < 300; again++) {
        cr_assert_eq(cuMemAlloc_v2(&plain, 1000), CUDA_SUCCESS);
        cr_assert_eq(cuMemFreeAsync(plain, a), CUDA_SUCCESS);
    }
    cr_expect_leq(handle_index(HANDLE_POOL, make(0)), handle_index(HANDLE_POOL, pool) + 2,
                  "all of them share one pool");
}

/* ---- memory in other places ------------------------------------------------------------------ */

static const CUmemLocation on_device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemLocation on_host = {CU_MEM_LOCATION_TYPE_HOST, 0};
static const CUmemLocation on_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
static const CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_NONE, 0};

static CUresult try(CUmemLocation place, CUmemAllocationType type, unsigned int handles,
                    CUmemoryPool *pool) {
    CUmemPoolProps props = {
        .allocType = type, .handleTypes = (CUmemAllocationHandleType)handles, .location = place};
    return cuMemPoolCreate(pool, &props);
}

static CUmemoryPool make_at(CUmemLocation place, CUmemAllocationType type) {
    CUmemoryPool pool;
    cr_assert_eq(try(place, type, 0, &pool), CUDA_SUCCESS);
    return pool;
}

static uint64_t told(CUpointer_attribute attribute, CUdeviceptr addr) {
    uint64_t value = 0;
    cr_assert_eq(cuPointerGetAttribute(&value, attribute, addr), CUDA_SUCCESS);
    return value;
}

static void fill(CUdeviceptr addr, uint64_t bytes) {
    memset((void *)(uintptr_t)addr, 7, bytes);
}

Test(shim_pool, memory_of_the_hosts) {
    CUmemoryPool pool = make_at(on_host, CU_MEM_ALLOCATION_TYPE_PINNED);
    uint64_t all = ~0ull;
    void *device;
    cr_assert_eq(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all),
                 CUDA_SUCCESS);
    CUdeviceptr first = take(pool, 1000, a), second = take(pool, GROWTH, a);
    fill(second, GROWTH);
    cr_expect_eq(told(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, first), CU_MEMORYTYPE_HOST);
    cr_expect_eq(told(CU_POINTER_ATTRIBUTE_HOST_POINTER, first), first);
    cr_expect_eq(told(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, first), first);
    cr_expect_eq(told(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, first), (uint64_t)(uintptr_t)pool);
    cr_expect_eq(told(CU_POINTER_ATTRIBUTE_IS_MANAGED, first), 0);
    cr_assert_eq(cuMemHostGetDevicePointer_v2((CUdeviceptr *)&device, (void *)first, 0),
                 CUDA_SUCCESS);
    cr_expect_eq((CUdeviceptr)device, first);
    cr_expect_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024 + GROWTH);
    cr_assert_eq(cuMemFreeAsync(second, a), CUDA_SUCCESS);
    cr_expect_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * GROWTH);
    cr_expect_eq(take(pool, GROWTH, a), second);
    cr_assert_eq(cuMemFree_v2(second), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    cr_expect_eq(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), GROWTH);
    cr_expect_eq(mem_used(), 0, "of the device");
    struct mem_block found;
    cr_expect_not(mem_find(second, &found));
}

Test(shim_pool, managed_memory_of_a_pool) {
    CUmemoryPool pool = make_at(nowhere, CU_MEM_ALLOCATION_TYPE_MANAGED);
    int mostly = -1;
    CUdeviceptr block = take(pool, 4096, a);
    fill(block, 4096);
    cr_expect_eq(told(CU_POINTER_ATTRIBUTE_IS_MANAGED, block), 1);
    cr_expect_eq(told(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block), CU_MEMORYTYPE_DEVICE);
    cr_assert_eq(cuMemAdvise_v2(block, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device),
                 CUDA_SUCCESS);
    cr_assert_eq(cuMemFreeAsync(block, a), CUDA_SUCCESS);
    cr_assert_eq(take(pool, 4096, a), block);
    cr_assert_eq(cuMemRangeGetAttribute(&mostly, sizeof(mostly), CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                        block, 4096),
                 CUDA_SUCCESS);
    cr_expect_eq(mostly, 0, "said of the block before");
    block = take(make_at(on_host, CU_MEM_ALLOCATION_TYPE_PINNED), 4096, a);
    cr_expect_eq(cuMemAdvise_v2(block, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device),
                 CUDA_ERROR_INVALID_VALUE);
}

Test(shim_pool, what_pools_there_are_not) {
    CUmemoryPool pool;
    const CUmemLocation other = {CU_MEM_LOCATION_TYPE_DEVICE, 1},
                        current = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0};
    const CUmemAllocationType pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
    cr_expect_eq(try(other, pinned, 0, &pool), CUDA_ERROR_INVALID_DEVICE);
    cr_expect_eq(try(current, pinned, 0, &pool), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(try(nowhere, pinned, 0, &pool), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(try(on_host, pinned, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &pool),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(try(on_device, CU_MEM_ALLOCATION_TYPE_INVALID, 0, &pool),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(try(on_node, pinned, 0, &pool), CUDA_SUCCESS);
}

static CUmemAccess_flags access_of(CUmemoryPool pool, CUmemLocation place) {
    CUmemAccess_flags flags;
    cr_assert_eq(cuMemPoolGetAccess(&flags, pool, &place), CUDA_SUCCESS);
    return flags;
}

static CUresult let(CUmemoryPool pool, CUmemLocation place, CUmemAccess_flags flags) {
    const CUmemAccessDesc desc = {.location = place, .flags = flags};
    return cuMemPoolSetAccess(pool, &desc, 1);
}

Test(shim_pool, who_may_use_it) {
    const CUmemAccess_flags both = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                            none = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemoryPool pool = make_at(on_host, CU_MEM_ALLOCATION_TYPE_PINNED), own = make(0);
    cr_expect_eq(access_of(pool, on_host), both);
    cr_expect_eq(access_of(pool, on_device), none);
    cr_expect_eq(let(pool, on_device, both), CUDA_SUCCESS);
    cr_expect_eq(access_of(pool, on_device), both);
    cr_expect_eq(let(pool, on_device, none), CUDA_SUCCESS);
    cr_expect_eq(access_of(pool, on_device), none);
    cr_expect_eq(let(pool, on_host, none), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(access_of(own, on_device), both);
    cr_expect_eq(access_of(own, on_host), none);
    cr_expect_eq(let(own, on_device, none), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(let(own, on_host, both), CUDA_ERROR_INVALID_DEVICE);
}

Test(shim_pool, each_home_has_its_own_choice) {
    CUmemLocation place = on_host, device = on_device;
    const CUmemAllocationType pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
    CUmemoryPool first, got, mine = make_at(on_node, pinned), devices;
    cr_assert_eq(cuMemGetDefaultMemPool(&first, &place, pinned), CUDA_SUCCESS);
    cr_assert_eq(cuDeviceGetDefaultMemPool(&devices, 0), CUDA_SUCCESS);
    cr_expect_neq(first, devices);
    cr_expect_eq(cuMemSetMemPool(&place, pinned, devices), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuDeviceSetMemPool(0, mine), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemSetMemPool(&place, pinned, mine), CUDA_SUCCESS);
    cr_expect(cuMemGetMemPool(&got, &place, pinned) == CUDA_SUCCESS && got == mine);
    cr_expect(cuMemGetMemPool(&got, &device, pinned) == CUDA_SUCCESS && got == devices);
    cr_expect_eq(cuMemPoolDestroy(mine), CUDA_SUCCESS);
    cr_expect(cuMemGetMemPool(&got, &place, pinned) == CUDA_SUCCESS && got == first);
    cr_expect_eq(cuMemPoolDestroy(first), CUDA_ERROR_INVALID_VALUE);
}

static int get_int(CUmemoryPool pool, CUmemPool_attribute attr) {
    int value[2] = {-99, -99};
    cr_assert_eq(cuMemPoolGetAttribute(pool, attr, value), CUDA_SUCCESS);
    cr_expect_eq(value[1], -99, "it is an int");
    return value[0];
}

Test(shim_pool, a_pool_says_how_it_was_made) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                            .maxSize = 1 << 20};
    CUmemoryPool pool, first;
    cr_assert_eq(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_ALLOCATION_TYPE), CU_MEM_ALLOCATION_TYPE_PINNED);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES), props.handleTypes);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_DEVICE);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_LOCATION_ID), 0);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED), 0);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID), -1);
    cr_expect_eq(get(pool, CU_MEMPOOL_ATTR_MAX_POOL_SIZE), 1 << 20);
    uint64_t more = 2 << 20;
    cr_expect_eq(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_MAX_POOL_SIZE, &more),
                 CUDA_ERROR_INVALID_VALUE, "once and for all");
    props = (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED,
                             .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 3}};
    cr_assert_eq(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_ALLOCATION_TYPE), CU_MEM_ALLOCATION_TYPE_MANAGED);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_HOST_NUMA);
    cr_expect_eq(get_int(pool, CU_MEMPOOL_ATTR_LOCATION_ID), 3);
    CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
    cr_assert_eq(cuMemGetDefaultMemPool(&first, &host, CU_MEM_ALLOCATION_TYPE_PINNED),
                 CUDA_SUCCESS);
    cr_expect_eq(get_int(first, CU_MEMPOOL_ATTR_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_HOST);
    cr_expect_eq(get(first, CU_MEMPOOL_ATTR_MAX_POOL_SIZE), 0, "no bound");
}

static unsigned long long id_of(CUdeviceptr p) {
    unsigned long long id = 0;
    cr_assert_eq(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p), CUDA_SUCCESS);
    return id;
}

Test(shim_pool, a_block_that_is_handed_out_again_is_another_buffer) {
    CUmemoryPool pool = make(0);
    CUdeviceptr first = take(pool, 1000, a);
    unsigned long long id = id_of(first);
    cr_assert(id && id_of(first + 999) == id);
    cr_assert_eq(cuMemFreeAsync(first, a), CUDA_SUCCESS);
    cr_assert_eq(take(pool, 1000, a), first);
    cr_expect_neq(id_of(first), id);
}

Test(shim_pool, one_that_may_not_look_hands_no_streams_memory_to_another) {
    CUmemoryPool pool = make(0);
    int off = 0;
    CUmemPool_attribute attr = CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC;
    CUdeviceptr first = take(pool, 1000, a);
    cr_assert_eq(cuMemPoolSetAttribute(pool, attr, &off), CUDA_SUCCESS);
    cr_assert_eq(cuMemFreeAsync(first, a), CUDA_SUCCESS);
    cr_expect_neq(take(pool, 1000, b), first);
    cr_assert_eq(take(pool, 1000, a), first);
    cr_assert_eq(cuMemFree_v2(first), CUDA_SUCCESS);
    cr_expect_eq(take(pool, 1000, b), first, "the call waited for all streams");
}
