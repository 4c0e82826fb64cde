/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies: the records that they become, the data that arrives, and when the call returns. The rig's
 * worker carries them out between real windows.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/connection/state.h"
#include "shim/transfer/staging.h"
#include "test/lib/shim/rig.h"

#define PIECE STAGING_BYTES
#define LARGE (5 * PIECE + 1000)

static CUdeviceptr device;
static unsigned char *pageable, *back;

static void begin(void) {
    rig_begin();
    cr_assert_eq(cuMemAlloc_v2(&device, LARGE), CUDA_SUCCESS);
    pageable = malloc(LARGE);
    back = calloc(1, LARGE);
    for (size_t i = 0; i < LARGE; i++)
        pageable[i] = (unsigned char)(i * 31 + i / 509);
    rig_forget();
}

TestSuite(shim_copy, .init = begin, .timeout = 60);

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

static uint64_t addr_of(const void *p) {
    return (uint64_t)(uintptr_t)p;
}

static bool in_host_window(uint64_t addr) {
    return addr - state.conn.windows.host_base < RIG_HOST_BYTES;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

Test(shim_copy, pageable_memory_passes_through_staging) {
    cr_assert_eq(cuMemcpyHtoD_v2(device, pageable, 1000), CUDA_SUCCESS);
    const struct wire_copy *c = rig_only(WIRE_COPY);
    cr_assert(c->dst == device && c->width_bytes == 1000 && c->height == 1 && c->depth == 1);
    cr_assert(in_host_window(c->src));
    cr_assert_arr_eq(at(device), pageable, 1000);
    rig_forget();
    cr_assert_eq(cuMemcpyDtoH_v2(back, device, 1000), CUDA_SUCCESS);
    c = rig_only(WIRE_COPY);
    cr_assert(c->src == device && in_host_window(c->dst));
    cr_assert_arr_eq(back, pageable, 1000);
}

Test(shim_copy, in_pieces_without_gap_or_overlap) {
    cr_assert_eq(cuMemcpyHtoD_v2(device, pageable, LARGE), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 6);
    uint64_t next = device;
    for (uint32_t i = 0; i < 6; i++) {
        const struct wire_copy *c = rig_record(i, NULL);
        cr_assert(c->dst == next && c->width_bytes <= PIECE);
        cr_assert_eq(c->rec.seq, i + 1);
        next += c->width_bytes;
    }
    cr_assert_eq(next, device + LARGE);
    cr_assert_arr_eq(at(device), pageable, LARGE);
    cr_assert_eq(cuMemcpyDtoH_v2(back, device, LARGE), CUDA_SUCCESS);
    cr_assert_arr_eq(back, pageable, LARGE);
}

Test(shim_copy, a_batch_is_its_copies) {
    CUdeviceptr to[] = {device, device + 512}, from[] = {addr_of(pageable), addr_of(pageable) + 99};
    size_t sizes[] = {100, 200}, firsts[] = {0, 1}, failed = 7;
    CUmemcpyAttributes how[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
                                 {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY}};
    CUstream s;
    cr_assert_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuMemcpyBatchAsync_v2(to, from, sizes, 2, how, firsts, 2, s), CUDA_SUCCESS);
    cr_assert_eq(cuStreamSynchronize(s), CUDA_SUCCESS);
    cr_assert_arr_eq(at(device), pageable, 100);
    cr_assert_arr_eq(at(device + 512), pageable + 99, 200);
    firsts[1] = 0;
    cr_assert_eq(cuMemcpyBatchAsync(to, from, sizes, 2, how, firsts, 2, &failed, s),
                 CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(failed, SIZE_MAX, "none of the copies is to blame");
    to[1] = 0;
    cr_assert_eq(cuMemcpyBatchAsync(to, from, sizes, 2, how, firsts, 1, &failed, s),
                 CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(failed, 1);
    cr_assert_eq(cuMemcpyBatchAsync_v2(to, from, sizes, 1, how, firsts, 1, NULL),
                 CUDA_ERROR_INVALID_VALUE, "the default stream has none");
}

Test(shim_copy, one_with_attributes_is_a_copy) {
    CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUdeviceptr from = addr_of(pageable);
    cr_assert_eq(cuMemcpyWithAttributesAsync(device, from, 100, &how, NULL), CUDA_SUCCESS,
                 "also in the default stream");
    cr_assert_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS);
    cr_assert_arr_eq(at(device), pageable, 100);
    how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    cr_expect_eq(cuMemcpyWithAttributesAsync(device, from, 100, &how, NULL),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemcpyWithAttributesAsync(device, from, 100, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D_BATCH_OP box = {
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                .op.ptr = {.ptr = from + 64, .rowLength = 16}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = device + 512}},
        .extent = {10, 2, 1},
        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL};
    cr_assert_eq(cuMemcpy3DWithAttributesAsync(&box, 0, NULL), CUDA_SUCCESS);
    cr_assert_arr_eq(at(device + 512), pageable + 64, 10, "when the call returns");
    cr_assert_arr_eq(at(device + 522), pageable + 80, 10);
    cr_expect_eq(cuMemcpy3DWithAttributesAsync(&box, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemcpy3DWithAttributesAsync(NULL, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemcpy3DBatchAsync_v2(1, &box, 0, NULL), CUDA_ERROR_INVALID_VALUE,
                 "several are in none");
}

/* A box of 10 x 3 x 2 elements from rows of 16 and layers of 4 rows, copied to memory without
 * gaps. */
static CUDA_MEMCPY3D_BATCH_OP box_op(void) {
    return (CUDA_MEMCPY3D_BATCH_OP){
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                .op.ptr = {.ptr = addr_of(pageable), .rowLength = 16, .layerHeight = 4}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = device}},
        .extent = {10, 3, 2},
        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
    };
}

Test(shim_copy, a_batch_of_boxes) {
    CUDA_MEMCPY3D_BATCH_OP ops[2] = {box_op(), box_op()};
    CUstream s;
    CUarray array;
    CUDA_ARRAY3D_DESCRIPTOR shape = {8, 8, 4, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
    cr_assert_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuArray3DCreate_v2(&array, &shape), CUDA_SUCCESS);
    ops[1].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY; /* elements of four bytes: source rows of 64 */
    ops[1].dst.op.array.array = array;
    ops[1].dst.op.array.offset = (CUoffset3D){1, 2, 1};
    ops[1].extent = (CUextent3D){5, 3, 2};
    cr_assert_eq(cuMemcpy3DBatchAsync_v2(2, ops, 0, s), CUDA_SUCCESS);
    cr_assert_eq(cuStreamSynchronize(s), CUDA_SUCCESS);
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            cr_assert_arr_eq(at(device + z * 30 + y * 10), pageable + z * 64 + y * 16, 10);
    ops[0] = ops[1];
    ops[0].src = ops[1].dst;
    ops[0].dst = (CUmemcpy3DOperand){.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                                     .op.ptr = {.ptr = device + 512}};
    cr_assert_eq(cuMemcpy3DBatchAsync_v2(1, ops, 0, s), CUDA_SUCCESS);
    cr_assert_eq(cuStreamSynchronize(s), CUDA_SUCCESS);
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            cr_assert_arr_eq(at(device + 512 + z * 60 + y * 20), pageable + z * 256 + y * 64, 20);
}

Test(shim_copy, a_box_that_is_none_is_named) {
    CUDA_MEMCPY3D_BATCH_OP ops[3] = {box_op(), box_op(), box_op()}, good = box_op();
    CUstream s;
    size_t failed = 7;
    cr_assert_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_forget();
#define IS_NONE(member, wrong)                                                                    \
    ops[1] = good;                                                                                \
    ops[1].member = wrong;                                                                        \
    cr_expect_eq(cuMemcpy3DBatchAsync(3, ops, &failed, 0, s), CUDA_ERROR_INVALID_VALUE, #member); \
    cr_expect_eq(failed, 1)
    IS_NONE(extent.width, 0);
    IS_NONE(extent.depth, 0);
    IS_NONE(src.op.ptr.rowLength, 9);
    IS_NONE(src.op.ptr.layerHeight, 2);
    IS_NONE(srcAccessOrder, (CUmemcpySrcAccessOrder)0);
    IS_NONE(dst.type, (CUmemcpy3DOperandType)3);
    IS_NONE(dst.type, CU_MEMCPY_OPERAND_TYPE_ARRAY);
    cr_expect_eq(rig_count(), 0, "none of them was sent");
    cr_expect_eq(cuMemcpy3DBatchAsync(1, ops, &failed, 1, s), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(failed, SIZE_MAX);
    cr_expect_eq(cuMemcpy3DBatchAsync(1, ops, NULL, 0, NULL), CUDA_ERROR_INVALID_VALUE);
}

static CUDA_MEMCPY2D rectangle(size_t width, size_t height, size_t pitch) {
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = pageable,
                           .srcPitch = pitch,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = device,
                           .dstPitch = pitch,
                           .WidthInBytes = width,
                           .Height = height};
}

Test(shim_copy, rows_keep_to_their_pitch) {
    CUDA_MEMCPY2D there = rectangle(700, 1000, 1024), home = {0};
    memset(at(device), 0x55, LARGE);
    cr_assert_eq(cuMemcpy2D_v2(&there), CUDA_SUCCESS);
    rig_count(); /* the call returns once the rows are in staging memory */
    for (size_t y = 0; y < 1000; y++) {
        const unsigned char *row = at(device + y * 1024);
        cr_assert_arr_eq(row, pageable + y * 1024, 700, "row %zu", y);
        cr_assert_eq(row[700], 0x55, "and touch nothing behind it");
    }
    home.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    home.srcDevice = device;
    home.srcPitch = 1024;
    home.dstMemoryType = CU_MEMORYTYPE_HOST;
    home.dstHost = back;
    home.dstPitch = 800;
    home.WidthInBytes = 700;
    home.Height = 1000;
    cr_assert_eq(cuMemcpy2D_v2(&home), CUDA_SUCCESS);
    for (size_t y = 0; y < 1000; y++) {
        cr_assert_arr_eq(back + y * 800, pageable + y * 1024, 700, "row %zu", y);
        cr_assert_eq(back[y * 800 + 700], 0);
    }
}

Test(shim_copy, rows_without_gaps_are_one) {
    CUDA_MEMCPY2D r = rectangle(1024, 100, 1024);
    cr_assert_eq(cuMemcpy2D_v2(&r), CUDA_SUCCESS);
    const struct wire_copy *c = rig_only(WIRE_COPY);
    cr_assert(c->width_bytes == 1024 * 100 && c->height == 1);
}

struct upload {
    pthread_t thread;
    CUcontext ctx;
    CUresult result;
};

static void *upload(void *arg) {
    struct upload *u = arg;
    cuCtxSetCurrent(u->ctx);
    u->result = cuMemcpyHtoD_v2(device, pageable, LARGE);
    return NULL;
}

static void *upload_little(void *arg) {
    struct upload *u = arg;
    cuCtxSetCurrent(u->ctx);
    u->result = cuMemcpyHtoDAsync_v2(device, pageable, 1000, NULL);
    return NULL;
}

/* Starts the call and returns when it waits. */
static void start(struct upload *u, void *(*call)(void *arg)) {
    const struct timespec nap = {.tv_nsec = 100000};
    cr_assert_eq(cuCtxGetCurrent(&u->ctx), CUDA_SUCCESS);
    cr_assert_eq(pthread_create(&u->thread, NULL, call, u), 0);
    while (!atom_load_acquire(&state.conn.submission->client_sleeping))
        nanosleep(&nap, NULL);
}

Test(shim_copy, two_pieces_are_under_way_at_a_time) {
    struct upload u;
    rig_hold_streams(true);
    start(&u, upload);
    cr_assert_eq(rig_count(), 2);
    rig_hold_streams(false);
    pthread_join(u.thread, NULL);
    cr_assert_eq(u.result, CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 6);
    cr_assert_arr_eq(at(device), pageable, LARGE);
}

Test(shim_copy, the_end_of_the_context_ends_a_copy) {
    struct upload u;
    rig_hold_streams(true);
    start(&u, upload);
    rig_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    pthread_join(u.thread, NULL);
    cr_assert_eq(u.result, CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(rig_count(), 2, "and sends no more");
}

/* A piece that was sent is read later: it must not be overwritten before. */
Test(shim_copy, a_piece_is_used_again_once_it_was_read) {
    rig_hold_streams(true);
    cr_assert_eq(cuMemcpyHtoDAsync_v2(device, pageable, 1000, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyHtoDAsync_v2(device + 1000, pageable + 1000, 1000, NULL), CUDA_SUCCESS);
    const struct wire_copy *a = rig_record(0, NULL), *b = rig_record(1, NULL);
    cr_assert_neq(a->src, b->src);
    cr_assert_arr_eq(at(a->src), pageable, 1000);
    cr_assert_arr_eq(at(b->src), pageable + 1000, 1000);
    rig_hold_streams(false);
    cr_assert_eq(cuMemcpyHtoDAsync_v2(device, pageable, 1000, NULL), CUDA_SUCCESS);
    const struct wire_copy *c = rig_record(2, NULL);
    cr_assert(c->src == a->src || c->src == b->src);
}

/* All pieces are in flight; the next copy waits, with no lock held. */
Test(shim_copy, a_copy_waits_for_a_piece) {
    struct upload u;
    rig_hold_streams(true);
    for (uint32_t i = 0; i < STAGING_SLOTS; i++)
        cr_assert_eq(cuMemcpyHtoDAsync_v2(device, pageable, 1000, NULL), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), STAGING_SLOTS);
    start(&u, upload_little);
    cr_assert_eq(rig_count(), STAGING_SLOTS);
    rig_hold_streams(false);
    pthread_join(u.thread, NULL);
    cr_assert_eq(u.result, CUDA_SUCCESS);
    const struct wire_copy *first = rig_record(0, NULL), *last = rig_record(STAGING_SLOTS, NULL);
    cr_assert_eq(last->src, first->src, "it has the piece that was sent first");
}

/* ---- host memory that the worker maps -------------------------------------------------------- */

Test(shim_copy, pinned_memory_is_copied_in_place) {
    void *pinned;
    cr_assert_eq(cuMemHostAlloc(&pinned, LARGE, 0), CUDA_SUCCESS);
    memcpy(pinned, pageable, LARGE);
    cr_assert_eq(cuMemcpyHtoD_v2(device, pinned, LARGE), CUDA_SUCCESS);
    const struct wire_copy *c = rig_only(WIRE_COPY);
    cr_assert(c->src == addr_of(pinned) && c->dst == device && c->width_bytes == LARGE);
    cr_assert_arr_eq(at(device), pageable, LARGE, "complete when it returns");
    rig_hold_streams(true);
    cr_assert_eq(cuMemcpyDtoHAsync_v2(pinned, device, 100, NULL), CUDA_SUCCESS, "at once");
    cr_assert_eq(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    rig_hold_streams(false);
    cr_assert_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS);
}

Test(shim_copy, within_the_device_nobody_waits) {
    rig_hold_streams(true);
    cr_assert_eq(cuMemcpyDtoD_v2(device + 4096, device, 1000), CUDA_SUCCESS);
    const struct wire_copy *c = rig_only(WIRE_COPY);
    cr_assert(c->src == device && c->dst == device + 4096);
}

Test(shim_copy, between_two_of_the_programs_own) {
    cr_assert_eq(cuMemcpy(addr_of(back), addr_of(pageable), 5000), CUDA_SUCCESS);
    cr_assert_arr_eq(back, pageable, 5000);
    cr_assert_eq(rig_count(), 0);
}

Test(shim_copy, in_its_stream) {
    CUstream s;
    cr_assert_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    const struct wire_stream_create *made = rig_only(WIRE_STREAM_CREATE);
    cr_assert_eq(cuMemcpyHtoDAsync_v2(device, pageable, 10, s), CUDA_SUCCESS);
    const struct wire_copy *c = rig_record(1, NULL);
    cr_assert_eq(c->rec.stream, made->rec.stream);
    cr_assert_eq(c->rec.seq, 1);
}

/* ---- invalid copies -------------------------------------------------------------------------- */

Test(shim_copy, what_does_not_fit_is_not_sent) {
    CUDA_MEMCPY2D narrow = rectangle(1025, 2, 1024), wraps = rectangle(1000, 4, 1ull << 62);
    cr_assert_eq(cuMemcpyHtoD_v2(device, pageable, LARGE + 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemcpyHtoD_v2(device + LARGE - 1, pageable, 2), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemcpyDtoH_v2(back, device - 1, 10), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemcpyHtoD_v2(addr_of(back), pageable, 10), CUDA_ERROR_INVALID_VALUE,
                 "no device memory");
    cr_assert_eq(cuMemcpyDtoH_v2(back, addr_of(pageable), 10), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemcpyHtoD_v2(device, pageable, UINT64_MAX), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemcpy2D_v2(&narrow), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemcpy2D_v2(&wraps), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemFree_v2(device), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyHtoD_v2(device, pageable, 10), CUDA_ERROR_INVALID_VALUE, "freed");
    for (uint32_t i = 0; i < rig_count(); i++) {
        const struct wire_record *rec = rig_record(i, NULL);
        cr_assert_neq(rec->op, WIRE_COPY);
    }
}

Test(shim_copy, nothing_is_nothing) {
    cr_assert_eq(cuMemcpyHtoD_v2(device, pageable, 0), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 0);
}

/* ---- memory whose operations always synchronize ---------------------------------------------- */

static _Atomic uint32_t returned;
static CUcontext context;

struct call {
    CUresult (*make)(CUdeviceptr a, CUdeviceptr b);
    CUdeviceptr a, b;
};

static CUresult copy_between(CUdeviceptr a, CUdeviceptr b) {
    return cuMemcpyDtoD_v2(a, b, 256);
}

static CUresult copy_up(CUdeviceptr a, CUdeviceptr b) {
    return cuMemcpyHtoD_v2(a, pageable, 256);
}

static CUresult fill(CUdeviceptr a, CUdeviceptr b) {
    return cuMemsetD8_v2(a, 1, 256);
}

static void *make_call(void *arg) {
    const struct call *c = arg;
    cr_assert_eq(cuCtxSetCurrent(context), CUDA_SUCCESS);
    cr_assert_eq(c->make(c->a, c->b), CUDA_SUCCESS);
    atom_store_release(&returned, 1);
    return NULL;
}

/* Makes the call on a thread while streams do not complete. True if the thread sleeps until they
 * do; false if the call returns before. */
static bool is_waited_for(struct call c) {
    pthread_t thread;
    bool asleep = false;
    atom_store_relaxed(&returned, 0);
    atom_store_relaxed(&state.conn.submission->client_sleeping, 0);
    rig_hold_streams(true);
    cr_assert_eq(pthread_create(&thread, NULL, make_call, &c), 0);
    while (!asleep && !atom_load_acquire(&returned))
        asleep = atom_load_acquire(&state.conn.submission->client_sleeping);
    rig_hold_streams(false);
    pthread_join(thread, NULL);
    return asleep;
}

static bool all_wait(CUdeviceptr a, CUdeviceptr b, bool want) {
    return is_waited_for((struct call){copy_between, a, b}) == want &&
           is_waited_for((struct call){copy_between, b, a}) == want &&
           is_waited_for((struct call){copy_up, a, b}) == want &&
           is_waited_for((struct call){fill, a, b}) == want;
}

Test(shim_copy, memory_with_sync_memops_is_waited_for) {
    CUdeviceptr a, b;
    unsigned int on = 1, off = 0, got = 7;
    cr_assert_eq(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&a, 4096), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&b, 4096), CUDA_SUCCESS);
    cr_expect(all_wait(a, b, false));
    cr_assert_eq(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a + 7), CUDA_SUCCESS);
    cr_assert_eq(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), CUDA_SUCCESS);
    cr_expect_eq(got, 1);
    cr_expect(all_wait(a, b, true));
    cr_assert_eq(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), CUDA_SUCCESS);
    cr_expect(all_wait(a, b, false));
    cr_assert_eq(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS), CUDA_SUCCESS);
    cr_expect(all_wait(a, b, true));
}
