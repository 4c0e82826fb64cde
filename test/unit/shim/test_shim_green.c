/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts: splitting and combining multiprocessors, and the records for the worker.
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

/* Multiprocessors of a device that cannot be partitioned are split in name only. */
Test(shim_green, a_device_that_is_not_split_has_no_green_contexts) {
    CUdevResource part;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    unsigned int count = 1;
    state.conn.device.flags |= WIRE_DEVICE_WHOLE;
    cr_assert_eq(cuDevSmResourceSplitByCount(&part, &count, &whole, NULL, 0, 8), CUDA_SUCCESS);
    cr_assert_eq(cuDevResourceGenerateDesc(&desc, &part, 1), CUDA_SUCCESS);
    cr_expect_eq(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM),
                 CUDA_ERROR_NOT_SUPPORTED);
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

/* ---- groups of different sizes --------------------------------------------------------------- */

typedef CU_DEV_SM_RESOURCE_GROUP_PARAMS group;

Test(shim_green, each_group_has_the_size_that_it_asks_for) {
    CUdevResource parts[3], rest;
    group g[3] = {{.smCount = 8, .coscheduledSmCount = 4},
                  {.smCount = 6, .coscheduledSmCount = 2},
                  {.coscheduledSmCount = 2, .flags = CU_DEV_SM_RESOURCE_GROUP_BACKFILL}};
    cr_assert_eq(cuDevSmResourceSplit(parts, 2, &whole, &rest, 0, g), CUDA_SUCCESS);
    cr_expect(parts[0].sm.smCount == 8 && parts[0].sm.smCoscheduledAlignment == 4);
    cr_expect(parts[1].sm.smCount == 6 && parts[1].sm.smCoscheduledAlignment == 2);
    cr_expect_eq(rest.sm.smCount, 6);
    cr_assert_eq(cuDevSmResourceSplit(parts, 3, &whole, &rest, 0, g), CUDA_SUCCESS);
    cr_expect(parts[2].sm.smCount == 6 && g[2].smCount == 6, "all that is left");
    cr_expect_eq(parts[2].sm.flags, CU_DEV_SM_RESOURCE_GROUP_BACKFILL);
    cr_expect_eq(rest.type, CU_DEV_RESOURCE_TYPE_INVALID);
}

Test(shim_green, groups_are_discovered) {
    CUdevResource rest;
    group g[3] = {{0}, {.coscheduledSmCount = 4}, {0}};
    cr_assert_eq(cuDevSmResourceSplit(NULL, 3, &whole, &rest, 0, g), CUDA_SUCCESS);
    cr_expect(g[0].smCount == 16 && g[0].coscheduledSmCount == 0, "eights, which are not said");
    cr_expect_eq(g[1].smCount, 4);
    cr_expect_eq(g[2].smCount, 0, "none is left");
    cr_expect_eq(rest.type, CU_DEV_RESOURCE_TYPE_INVALID);
    CUdevResource parts[3];
    group again[3] = {{0}, {.coscheduledSmCount = 4}, {0}};
    cr_expect_eq(cuDevSmResourceSplit(parts, 3, &whole, NULL, 0, again),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "a part is never empty");
    cr_expect_eq(again[0].smCount, 0, "nothing was split");
}

Test(shim_green, what_no_group_can_be_is_refused) {
    static const struct {
        group g;
        CUresult want;
    } wrong[] = {
        {{.smCount = 9}, CUDA_ERROR_INVALID_VALUE},
        {{.smCount = 12}, CUDA_ERROR_INVALID_VALUE},
        {{.smCount = 22, .coscheduledSmCount = 2}, CUDA_ERROR_INVALID_VALUE},
        {{.smCount = 18, .coscheduledSmCount = 3}, CUDA_ERROR_INVALID_VALUE},
        {{.coscheduledSmCount = 34}, CUDA_ERROR_INVALID_VALUE},
        {{.smCount = 8, .coscheduledSmCount = 4, .preferredCoscheduledSmCount = 6},
         CUDA_ERROR_INVALID_VALUE},
        {{.smCount = 8, .flags = 8}, CUDA_ERROR_INVALID_VALUE},
        {{.coscheduledSmCount = 32}, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION},
        {{.smCount = 4, .flags = CU_DEV_SM_RESOURCE_GROUP_BACKFILL},
         CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION},
        {{.smCount = 8,
          .flags = CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID,
          .localityDomainId = 1},
         CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION},
    };
    CUdevResource part;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        group g = wrong[i].g;
        cr_expect_eq(cuDevSmResourceSplit(&part, 1, &whole, NULL, 0, &g), wrong[i].want, "%zu", i);
    }
    group g[2] = {{.smCount = 16}, {.smCount = 8}};
    cr_expect_eq(cuDevSmResourceSplit(NULL, 2, &whole, NULL, 0, g),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "24 of 20");
    cr_expect_eq(cuDevSmResourceSplit(&part, 1, &whole, NULL, 1, g), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuDevSmResourceSplit(&part, 1, &(CUdevResource){0}, NULL, 0, g),
                 CUDA_ERROR_INVALID_RESOURCE_TYPE);
    g[0] = (group){.smCount = 8,
                   .flags = CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID,
                   .localityDomainId = UINT32_MAX};
    cr_expect_eq(cuDevSmResourceSplit(&part, 1, &whole, NULL, 0, g), CUDA_SUCCESS, "any domain");
}

Test(shim_green, the_rest_can_be_split_again) {
    CUdevResource part, rest, again, last;
    group g = {.smCount = 8};
    unsigned int count = 1;
    cr_assert_eq(cuDevSmResourceSplit(&part, 1, &whole, &rest, 0, &g), CUDA_SUCCESS);
    cr_assert_eq(cuDevSmResourceSplit(&again, 1, &rest, &last, 0, &g), CUDA_SUCCESS);
    cr_expect(again.sm.smCount == 8 && last.sm.smCount == 4);
    cr_expect_eq(cuDevSmResourceSplit(&again, 1, &part, NULL, 0, &g),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "a part cannot");
    cr_expect_eq(cuDevSmResourceSplitByCount(&again, &count, &rest, NULL, 0, 8),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    make(&last, 1);
}

Test(shim_green, parts_that_are_not_alike_do_not_go_together) {
    CUdevResource parts[2];
    CUdevResourceDesc desc;
    group g[2] = {{.smCount = 8}, {.smCount = 8, .coscheduledSmCount = 4}};
    cr_assert_eq(cuDevSmResourceSplit(parts, 2, &whole, NULL, 0, g), CUDA_SUCCESS);
    cr_expect_eq(cuDevResourceGenerateDesc(&desc, parts, 2),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    g[1].coscheduledSmCount = 8;
    cr_assert_eq(cuDevSmResourceSplit(parts, 2, &whole, NULL, 0, g), CUDA_SUCCESS);
    make(parts, 2);
}

static unsigned int sms_of(CUstream s) {
    CUdevResource got;
    cr_assert_eq(cuStreamGetDevResource(s, &got, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    return got.sm.smCount;
}

Test(shim_green, a_stream_says_what_it_has) {
    CUdevResource part, got;
    group g = {.smCount = 8};
    CUstream s, plain;
    CUcontext context;
    cr_assert_eq(cuDevSmResourceSplit(&part, 1, &whole, NULL, 0, &g), CUDA_SUCCESS);
    CUgreenCtx green = make(&part, 1);
    cr_assert_eq(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_forget();
    cr_expect(sms_of(s) == 8 && sms_of(plain) == 20 && sms_of(NULL) == 20);
    cr_assert_eq(cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
    cr_assert_eq(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    cr_expect(sms_of(NULL) == 8 && sms_of(plain) == 20);
    cr_assert_eq(cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
    cr_expect_eq(cuStreamGetDevResource(s, &got, CU_DEV_RESOURCE_TYPE_WORKQUEUE),
                 CUDA_ERROR_INVALID_RESOURCE_TYPE);
    cr_expect_eq(cuStreamGetDevResource((CUstream)green, &got, CU_DEV_RESOURCE_TYPE_SM),
                 CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(rig_count(), 0, "nobody is asked");
}
