/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts: how multiprocessors are split and put together, and what of it the worker is
 * told.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "shim/connection/state.h"
#include "shim/context/stream.h"
#include "test/lib/shim/rig.h"

static CUdevResource whole;

static void begin(void) {
    rig_begin();
    state.conn.device.sm_count = 20;
    state.conn.device.cc_major = 9;
    cr_assert_eq(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_green, .init = begin, .timeout = 60);

Test(shim_green, groups_are_whole_and_alike) {
    CUdevResource parts[4], rest;
    unsigned int count = 4;
    cr_assert_eq(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 0, 3), CUDA_SUCCESS);
    cr_expect_eq(count, 2);
    cr_expect(parts[0].sm.smCount == 8 && parts[1].sm.smCount == 8 && rest.sm.smCount == 4);
    count = 4;
    cr_assert_eq(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 1, 5), CUDA_SUCCESS);
    cr_expect(count == 3 && parts[2].sm.smCount == 6 && rest.sm.smCount == 2);
    count = 1;
    cr_assert_eq(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 1, 4), CUDA_SUCCESS);
    cr_expect(count == 1 && parts[0].sm.smCount == 4 && rest.sm.smCount == 16);
    count = 1;
    cr_assert_eq(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 1, 20), CUDA_SUCCESS);
    cr_expect(parts[0].sm.smCount == 20 && rest.type == CU_DEV_RESOURCE_TYPE_INVALID);
}

Test(shim_green, what_cannot_be_split_is_not) {
    CUdevResource part, again, none = {0};
    unsigned int count = 1;
    cr_expect_eq(cuDevSmResourceSplitByCount(&part, &count, &whole, NULL, 0, 21),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuDevSmResourceSplitByCount(&part, &count, &whole, NULL, 0, 18),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "a multiple of 8 that is not there");
    cr_expect_eq(cuDevSmResourceSplitByCount(&part, &count, &whole, NULL, 4, 8),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuDevSmResourceSplitByCount(&part, &count, &none, NULL, 0, 8),
                 CUDA_ERROR_INVALID_RESOURCE_TYPE);
    cr_assert_eq(cuDevSmResourceSplitByCount(&part, &count, &whole, NULL, 0, 8), CUDA_SUCCESS);
    cr_expect_eq(cuDevSmResourceSplitByCount(&again, &count, &part, NULL, 0, 8),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    cr_expect_eq(cuDeviceGetDevResource(0, &part, (CUdevResourceType)10000),
                 CUDA_ERROR_NOT_SUPPORTED);
}

static CUgreenCtx make(CUdevResource *from, unsigned int count) {
    CUdevResourceDesc desc;
    CUgreenCtx green;
    cr_assert_eq(cuDevResourceGenerateDesc(&desc, from, count), CUDA_SUCCESS);
    cr_assert_eq(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
    return green;
}

Test(shim_green, parts_of_one_split_go_together) {
    CUdevResource one[2], other[2], got;
    CUdevResourceDesc desc;
    unsigned int count = 2;
    cr_assert_eq(cuDevSmResourceSplitByCount(one, &count, &whole, NULL, 0, 8), CUDA_SUCCESS);
    cr_assert_eq(cuDevSmResourceSplitByCount(other, &count, &whole, NULL, 0, 8), CUDA_SUCCESS);
    CUgreenCtx green = make(one, 2);
    cr_assert_eq(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    cr_expect_eq(got.sm.smCount, 16);
    one[1] = other[0];
    cr_expect_eq(cuDevResourceGenerateDesc(&desc, one, 2),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    one[0] = one[1] = whole;
    cr_expect_eq(cuDevResourceGenerateDesc(&desc, one, 2),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

Test(shim_green, its_streams_have_its_share) {
    CUdevResource part;
    unsigned int count = 1;
    CUstream s, current;
    CUcontext context;
    cr_assert_eq(cuDevSmResourceSplitByCount(&part, &count, &whole, NULL, 0, 8), CUDA_SUCCESS);
    CUgreenCtx green = make(&part, 1), got;
    cr_assert_eq(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    const struct wire_stream_share *share = rig_record(rig_count() - 1, NULL);
    cr_expect_eq(share->rec.op, WIRE_STREAM_SHARE);
    cr_expect(share->rec.stream == stream_find(s)->id && share->sms == 8);
    cr_assert_eq(cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
    cr_assert_eq(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&current, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    share = rig_record(rig_count() - 1, NULL);
    cr_expect(share->rec.op == WIRE_STREAM_SHARE && share->sms == 8);
    cr_expect_eq(cuStreamGetGreenCtx(current, &got), CUDA_SUCCESS);
    cr_expect_eq(got, green);
    cr_assert_eq(cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuStreamCreate(&current, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_only(WIRE_STREAM_CREATE);
    cr_assert_eq(cuGreenCtxDestroy(green), CUDA_SUCCESS);
    cr_expect_eq(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuCtxPushCurrent_v2((CUcontext)green), CUDA_ERROR_INVALID_CONTEXT);
}
