/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and events of several processes as the worker sees them: requests that are made only once,
 * records that are sent before a call returns, and freed objects. The rig's worker knows every key.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "shim/connection/state.h"
#include "shim/ipc/opened.h"
#include "shim/memory/mem.h"
#include "test/lib/shim/rig.h"

#define G RIG_GRANULE

static void begin(void) {
    rig_begin();
    rig_credit(64, 64);
    rig_forget();
}

TestSuite(shim_ipc, .init = begin, .timeout = 60);

/* Returns the operations since rig_forget; `?` marks those that wait for an answer. */
static const char *sent(void) {
    static char text[512];
    int n = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < rig_count(); i++) {
        const struct wire_record *rec = rig_record(i, NULL);
        n += sprintf(text + n, "%u%s ", rec->op, rec->ticket ? "?" : "");
    }
    rig_forget();
    return text;
}

#define SHARE "29? "
#define OPEN "25? "
#define SHOW "27 "
#define UNBACK "10 "
#define CLOSE "26 "

static CUdeviceptr take(uint64_t bytes) {
    CUdeviceptr at;
    cr_assert_eq(cuMemAlloc_v2(&at, bytes), CUDA_SUCCESS);
    return at;
}

static CUipcMemHandle handle_of(CUdeviceptr at) {
    CUipcMemHandle h;
    cr_assert_eq(cuIpcGetMemHandle(&h, at), CUDA_SUCCESS);
    return h;
}

/* ---- exporting ------------------------------------------------------------------------------- */

Test(shim_ipc, whole_granules_are_shared) {
    CUdeviceptr large = take(2 * G + 100), small = take(1000);
    rig_forget();
    handle_of(large);
    const struct wire_segment *s = rig_only(WIRE_MEM_SHARE);
    cr_expect_eq(s->addr, large);
    cr_expect_eq(s->bytes, 3 * G);
    rig_forget();
    CUipcMemHandle h = handle_of(small);
    struct opened_handle told;
    memcpy(&told, &h, sizeof(told));
    s = rig_only(WIRE_MEM_SHARE);
    cr_expect_eq(s->addr, small / G * G);
    cr_expect_eq(s->bytes, G);
    cr_expect_eq(told.offset, small % G);
    cr_expect_eq(told.bytes, 1000);
    cr_expect_eq(told.key[0], RIG_KEY);
}

/* A process that has the key must not see the memory of a later owner of the address. */
Test(shim_ipc, what_was_lent_is_not_kept_for_others) {
    CUdeviceptr large = take(2 * G), small = take(1000), neighbour = take(1000);
    handle_of(large);
    handle_of(small);
    rig_forget();
    cr_assert_eq(cuMemFree_v2(large), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), UNBACK);
    cr_assert_eq(cuMemFree_v2(small), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), "", "another block is there");
    cr_assert_eq(cuMemFree_v2(neighbour), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), UNBACK);
    CUdeviceptr kept = take(2 * G);
    rig_forget();
    cr_assert_eq(cuMemFree_v2(kept), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), "", "what was not lent is kept");
}

Test(shim_ipc, only_a_block_of_its_own_is_lent) {
    CUdeviceptr at = take(4096), pooled, managed;
    CUipcMemHandle h;
    cr_expect_eq(cuIpcGetMemHandle(&h, at + 4096), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuIpcGetMemHandle(&h, 0x1234), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuIpcGetMemHandle(NULL, at), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemAllocAsync(&pooled, 4096, NULL), CUDA_SUCCESS);
    cr_expect_eq(cuIpcGetMemHandle(&h, pooled), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    cr_expect_eq(cuIpcGetMemHandle(&h, managed), CUDA_ERROR_INVALID_VALUE);
}

/* Allocators that divide blocks query any address (UCX, CuPy's pool). */
Test(shim_ipc, every_address_of_a_block_has_its_handle) {
    CUdeviceptr large = take(2 * G + 100), small = take(1000), next = take(1000);
    CUipcMemHandle of_large = handle_of(large), of_small = handle_of(small), h;
    h = handle_of(large + G + 17);
    cr_expect_arr_eq(&h, &of_large, sizeof(h));
    h = handle_of(large + 2 * G + 99);
    cr_expect_arr_eq(&h, &of_large, sizeof(h));
    h = handle_of(small + 999);
    cr_expect_arr_eq(&h, &of_small, sizeof(h));
    h = handle_of(next);
    cr_expect_arr_neq(&h, &of_small, sizeof(h));
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Makes a handle as another job does; the rig's segments have two granules. */
static CUipcMemHandle foreign(uint64_t offset, uint64_t bytes) {
    CUipcMemHandle h = handle_of(take(64));
    struct opened_handle told;
    memcpy(&told, &h, sizeof(told));
    told.job++;
    told.offset = offset;
    told.bytes = bytes;
    memcpy(&h, &told, sizeof(told));
    rig_forget();
    return h;
}

Test(shim_ipc, what_is_opened_twice_is_there_once) {
    CUipcMemHandle whole = foreign(0, 2 * G), part = foreign(4096, 100);
    CUdeviceptr first, second, third;
    struct mem_block b;
    cr_assert_eq(cuIpcOpenMemHandle_v2(&first, whole, 1), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), OPEN SHOW);
    cr_assert_eq(cuIpcOpenMemHandle_v2(&second, whole, 1), CUDA_SUCCESS);
    cr_assert_eq(cuIpcOpenMemHandle_v2(&third, part, 1), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), "");
    cr_expect_eq(first, second);
    cr_expect_eq(third, first + 4096);
    cr_expect_not(mem_find(first, &b), "it is no block");
    cr_expect_eq(cuMemFree_v2(first), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(cuIpcCloseMemHandle(first), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), "");
    cr_assert_eq(cuIpcCloseMemHandle(third), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), UNBACK CLOSE);
    cr_expect_eq(cuIpcCloseMemHandle(first), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_ipc, what_cannot_be_opened_leaves_nothing_behind) {
    CUipcMemHandle own = handle_of(take(64)), beyond = foreign(G, 2 * G), none = {{0}},
                   wraps = foreign(UINT64_MAX - 10, 100), good = foreign(0, 64);
    CUdeviceptr at;
    rig_forget();
    cr_expect_eq(cuIpcOpenMemHandle_v2(&at, own, 1), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuIpcOpenMemHandle_v2(&at, none, 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuIpcOpenMemHandle_v2(&at, wraps, 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuIpcOpenMemHandle_v2(&at, good, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_str_eq(sent(), "");
    cr_expect_eq(cuIpcOpenMemHandle_v2(&at, beyond, 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_str_eq(sent(), OPEN CLOSE);
    rig_refuse(WIRE_MEM_OPEN, ERR_NOT_FOUND, NULL);
    cr_expect_eq(cuIpcOpenMemHandle_v2(&at, good, 1), CUDA_ERROR_MAP_FAILED);
    cr_expect_str_eq(sent(), OPEN);
}

Test(shim_ipc, what_is_open_ends_with_its_context) {
    CUipcMemHandle h = foreign(0, G);
    CUdeviceptr at;
    CUcontext own;
    cr_assert_eq(cuCtxCreate_v4(&own, NULL, 0, 0), CUDA_SUCCESS);
    cr_assert_eq(cuIpcOpenMemHandle_v2(&at, h, 1), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuCtxDestroy_v2(own), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), UNBACK CLOSE);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static CUmemoryPool import_pool(CUmemoryPool pool) {
    CUmemoryPool imported;
    int fd;
    cr_assert_eq(
        cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                 CUDA_SUCCESS);
    cr_expect_eq(cuMemImportFromShareableHandle((CUmemGenericAllocationHandle[1]){0},
                                                (void *)(intptr_t)fd,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                 CUDA_ERROR_INVALID_VALUE, "a pool is no allocation");
    close(fd);
    return imported;
}

Test(shim_ipc, a_block_of_a_pool_is_opened_through_the_pool) {
    CUmemoryPool pool, other, imported;
    CUmemPoolPtrExportData data;
    struct mem_block b;
    CUdeviceptr block, here;
    cr_assert_eq(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolCreate(&other, &props), CUDA_SUCCESS);
    cr_assert_eq(cuMemAllocFromPoolAsync(&block, 1000, pool, NULL), CUDA_SUCCESS);
    cr_assert(mem_find(block, &b));
    cr_expect_eq(b.window, MEM_PERSISTENT, "no lane's");
    cr_assert_eq(cuMemPoolExportPointer(&data, block), CUDA_SUCCESS);
    imported = import_pool(other);
    cr_expect_eq(cuMemPoolImportPointer(&here, imported, &data), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemPoolImportPointer(&here, pool, &data), CUDA_ERROR_INVALID_VALUE);
    imported = import_pool(pool);
    rig_forget();
    cr_assert_eq(cuMemPoolImportPointer(&here, imported, &data), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), OPEN SHOW);
    cr_expect_eq(cuIpcCloseMemHandle(here), CUDA_ERROR_INVALID_VALUE, "it was not opened so");
    cr_assert_eq(cuMemFreeAsync(here, NULL), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), UNBACK CLOSE);
    cr_expect_eq(cuMemFreeAsync(here, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemPoolImportPointer(&here, imported, &data), CUDA_SUCCESS);
    cr_expect_eq(cuMemFree_v2(here), CUDA_SUCCESS);
}

Test(shim_ipc, an_imported_pool_gives_nothing) {
    CUmemoryPool pool, plain, imported;
    CUmemPoolPtrExportData data;
    CUmemPoolProps no_types = props;
    CUdeviceptr block;
    int fd;
    no_types.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    cr_assert_eq(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolCreate(&plain, &no_types), CUDA_SUCCESS);
    imported = import_pool(pool);
    cr_expect_eq(cuMemAllocFromPoolAsync(&block, 64, imported, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuDeviceSetMemPool(0, imported), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemPoolExportToShareableHandle(&fd, imported,
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(
        cuMemPoolExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemAllocFromPoolAsync(&block, 64, plain, NULL), CUDA_SUCCESS);
    cr_expect_eq(cuMemPoolExportPointer(&data, block), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemPoolExportPointer(&data, take(64)), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemPoolDestroy(imported), CUDA_SUCCESS);
}

Test(shim_ipc, pools_are_chosen_by_place) {
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    CUmemoryPool own, mine, got;
    cr_assert_eq(cuMemGetDefaultMemPool(&own, &here, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolCreate(&mine, &props), CUDA_SUCCESS);
    cr_assert_eq(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, mine), CUDA_SUCCESS);
    cr_assert_eq(cuMemGetMemPool(&got, &here, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS);
    cr_expect_eq(got, mine);
    cr_expect_neq(own, mine);
    cr_expect_eq(cuMemGetMemPool(&got, &host, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS);
    cr_expect(got != own && got != mine);
    cr_expect_eq(cuMemGetMemPool(&got, NULL, CU_MEM_ALLOCATION_TYPE_PINNED),
                 CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, own), CUDA_SUCCESS);
}

/* ---- events ---------------------------------------------------------------------------------- */

static CUevent shared_event(void) {
    CUevent e;
    cr_assert_eq(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS), CUDA_SUCCESS);
    return e;
}

/* The program may notify another process next, so the record must have been read. */
Test(shim_ipc, recording_and_waiting_return_when_they_were_read) {
    CUstream stream;
    cr_assert_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUevent e = shared_event();
    rig_forget();
    cr_assert_eq(cuEventRecord(e, stream), CUDA_SUCCESS);
    const struct wire_event_record *r = rig_record(0, NULL);
    cr_expect_eq(r->rec.op, WIRE_EVENT_RECORD);
    cr_expect_eq(r->signal, 1);
    cr_expect_str_eq(sent(), "4 15? ");
    cr_assert_eq(cuStreamWaitEvent(stream, e, 0), CUDA_SUCCESS);
    const struct wire_stream_wait *w = rig_record(0, NULL);
    cr_expect_eq(w->rec.op, WIRE_STREAM_WAIT);
    cr_expect_eq(w->on, WIRE_ON_SIGNAL);
    cr_expect_str_eq(sent(), "5 15? ");
    cr_assert_eq(cuEventQuery(e), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), "35? ");
    cr_assert_eq(cuEventSynchronize(e), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), "7 5 8 ", "a stream of its own");
    cr_assert_eq(cuEventDestroy_v2(e), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), "34 ");
    e = shared_event();
    const struct wire_signal *s = rig_only(WIRE_SIGNAL_MAKE);
    cr_expect_eq(s->signal, 0, "its number is free");
}

Test(shim_ipc, an_event_of_one_process_costs_none_of_this) {
    CUevent e;
    CUipcEventHandle h;
    CUstream stream;
    cr_assert_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuEventRecord(e, stream), CUDA_SUCCESS);
    cr_assert_eq(cuEventQuery(e), CUDA_SUCCESS);
    cr_assert_eq(cuStreamWaitEvent(stream, e, 0), CUDA_SUCCESS);
    cr_assert_eq(cuEventDestroy_v2(e), CUDA_SUCCESS);
    cr_expect_str_eq(sent(), "");
    cr_assert_eq(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    cr_expect_eq(cuIpcGetEventHandle(&h, e), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuIpcGetEventHandle(&h, NULL), CUDA_ERROR_INVALID_HANDLE);
}

Test(shim_ipc, an_event_is_opened_by_its_handle) {
    CUevent e = shared_event(), opened;
    CUipcEventHandle h, other, none = {{0}};
    cr_assert_eq(cuIpcGetEventHandle(&h, e), CUDA_SUCCESS);
    cr_expect_eq(cuIpcOpenEventHandle(&opened, h), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuIpcOpenEventHandle(&opened, none), CUDA_ERROR_INVALID_VALUE);
    other = h;
    other.reserved[4] ^= 1; /* a handle of another job */
    rig_forget();
    cr_assert_eq(cuIpcOpenEventHandle(&opened, other), CUDA_SUCCESS);
    const struct wire_signal *s = rig_only(WIRE_SIGNAL_OPEN);
    cr_expect_eq(s->key[0], RIG_KEY);
    cr_expect_eq(s->signal, 1);
    rig_refuse(WIRE_SIGNAL_OPEN, ERR_NOT_FOUND, NULL);
    cr_expect_eq(cuIpcOpenEventHandle(&opened, other), CUDA_ERROR_MAP_FAILED);
}
