/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts: parts of the device, split off in whole units, and their streams.
 */
#include <stdlib.h>
#include <string.h>

#include "test/lib/driver/fake_state.h"

#define UNIT 8u /* multiprocessors */

static CUdevResource sms(uint32_t count) {
    return (CUdevResource){.type = CU_DEV_RESOURCE_TYPE_SM, .sm = {count, UNIT, UNIT}};
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type) {
    FAKE_CALL(false);
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = sms(FAKE_SMS);
    return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *parts, unsigned int *count,
                                     const CUdevResource *whole, CUdevResource *rest,
                                     unsigned int flags, unsigned int least) {
    FAKE_CALL(false);
    if (fake.options.no_green) return CUDA_ERROR_NOT_SUPPORTED;
    if (whole->sm.smCount != FAKE_SMS || flags || least > FAKE_SMS)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not of the device, or more than it has");
    uint32_t size = least ? (least + UNIT - 1) / UNIT * UNIT : UNIT;
    if (*count > FAKE_SMS / size) *count = FAKE_SMS / size;
    if (!*count) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    for (unsigned int i = 0; i < *count; i++)
        parts[i] = sms(size);
    if (rest) *rest = sms(FAKE_SMS - *count * size);
    return CUDA_SUCCESS;
}

/* The descriptor is the partition's number of multiprocessors. */
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *parts,
                                   unsigned int count) {
    FAKE_CALL(false);
    if (count != 1 || parts->type != CU_DEV_RESOURCE_TYPE_SM || parts->sm.smCount % UNIT)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no part of one split");
    *out = (CUdevResourceDesc)(uintptr_t)parts->sm.smCount;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice device,
                          unsigned int flags) {
    FAKE_CALL(true);
    if (flags != CU_GREEN_CTX_DEFAULT_STREAM || device)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not with a default stream");
    struct object *o = fake_object_new(OBJECT_GREEN, 0, 0);
    o->sms = (uint32_t)(uintptr_t)desc;
    *out = (CUgreenCtx)(uintptr_t)o->id;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx green) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_GREEN, green);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_CONTEXT, "none, or none any more");
    for (const struct object *s = fake.objects; s; s = s->next)
        if (s->kind == OBJECT_STREAM && s->owner == o)
            return FAKE_MISUSE(CUDA_ERROR_INVALID_CONTEXT, "with a stream in it");
    fake_object_free(o);
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx green, unsigned int flags, int priority) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_GREEN, green);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_CONTEXT, "none, or none any more");
    return fake_stream_make(out, o, flags, priority, __func__);
}
