/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the device: its multiprocessors as a resource, split, and put together for green
 * contexts.
 */
#include <stdbool.h>
#include <string.h>

#include "common/atomics.h"
#include "proto/gen/prototypes.h"
#include "shim/connection/refuse.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/handle.h"

/* What we put into a resource beside what the program sees. */
struct origin {
    uint32_t kind;  /* ORIGIN_* */
    uint32_t split; /* of what is a part: which of them made it */
};

#define ORIGIN_WHOLE 0x536d7301u /* it can be split */
#define ORIGIN_PART 0x536d7302u

#define WORKQUEUE_CONFIG 1000 /* resources of 13.1 and later */
#define WORKQUEUE 10000

static struct origin origin_of(const CUdevResource *r) {
    struct origin o;
    memcpy(&o, r->_internal_padding, sizeof(o));
    return o;
}

/* The smallest part that could be split off, and what its size has to be a multiple of: the
 * guideline of CUDA's documentation for each architecture. */
static CUdevResource make_sms(uint32_t count, struct origin origin) {
    const struct wire_device *d = &state.conn.device;
    CUdevResource r = {.type = CU_DEV_RESOURCE_TYPE_SM, .sm = {count, 2, 2}};
    if (d->cc_major >= 8) r.sm.minSmPartitionSize = 4;
    if (d->cc_major >= 9) r.sm.minSmPartitionSize = r.sm.smCoscheduledAlignment = 8;
    memcpy(r._internal_padding, &origin, sizeof(origin));
    return r;
}

/* `sms`: of a green context; 0: of the whole device. */
static CUresult describe(uint32_t sms, CUdevResource *resource, CUdevResourceType type) {
    if (!resource) return CUDA_ERROR_INVALID_VALUE;
    if ((int)type == WORKQUEUE_CONFIG || (int)type == WORKQUEUE)
        return refuse_call("work queues as a resource of the device");
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = make_sms(sms ? sms : state.conn.device.sm_count, (struct origin){ORIGIN_WHOLE, 0});
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type) {
    CUresult r = state_ready();
    if (r) return r;
    return device == 0 ? describe(0, resource, type) : CUDA_ERROR_INVALID_DEVICE;
}

/* NULL stands for the current context. */
CUresult cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource, CUdevResourceType type) {
    CUresult r = state_ready();
    if (r) return r;
    const struct context *c = ctx_find(hCtx);
    return c ? describe(c->sms, resource, type) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource,
                                  CUdevResourceType type) {
    CUresult r = state_ready();
    if (r) return r;
    const struct context *c = hCtx ? ctx_find((CUcontext)hCtx) : NULL;
    return c && c->sms ? describe(c->sms, resource, type) : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- split ----------------------------------------------------------------------------------- */

/* Of each group: a multiple of what has to be together, and not below the least. */
static uint32_t group_size(const CUdevSmResource *sm, unsigned int flags, uint32_t asked) {
    bool fine = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    uint32_t least = fine ? 2 : sm->minSmPartitionSize;
    uint32_t whole = fine ? 2 : sm->smCoscheduledAlignment;
    uint32_t size = asked > least ? asked : least;
    return (size + whole - 1) / whole * whole;
}

static CUresult check_split(const unsigned int *count, const CUdevResource *input,
                            unsigned int flags, unsigned int least) {
    const unsigned int known = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                               CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    if (!count || !input || flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (origin_of(input).kind != ORIGIN_WHOLE) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    return least <= input->sm.smCount ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                     const CUdevResource *input, CUdevResource *remaining,
                                     unsigned int useFlags, unsigned int minCount) {
    static _Atomic uint32_t splits;
    CUresult r = state_ready();
    if (!r) r = check_split(nbGroups, input, useFlags, minCount);
    if (r) return r;
    uint32_t all = input->sm.smCount, size = group_size(&input->sm, useFlags, minCount);
    uint32_t groups = all / size;
    if (!groups) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (result && *nbGroups < groups) groups = *nbGroups;
    struct origin part = {ORIGIN_PART, atom_add_relaxed(&splits, 1)};
    uint32_t left = all - groups * size;
    for (uint32_t i = 0; result && i < groups; i++)
        result[i] = make_sms(size, part);
    if (remaining) *remaining = left ? make_sms(left, part) : (CUdevResource){0};
    *nbGroups = groups;
    return CUDA_SUCCESS;
}

/* ---- put together ---------------------------------------------------------------------------- */

static CUresult add_up(const CUdevResource *list, unsigned int count, uint32_t *sms) {
    const struct origin first = origin_of(&list[0]);
    *sms = 0;
    for (unsigned int i = 0; i < count; i++) {
        const struct origin o = origin_of(&list[i]);
        if (list[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        bool known = o.kind == ORIGIN_WHOLE || o.kind == ORIGIN_PART;
        bool together = o.kind == ORIGIN_PART && first.kind == o.kind && o.split == first.split;
        if (!known || (i && !together)) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        *sms += list[i].sm.smCount;
    }
    bool there = *sms && *sms <= state.conn.device.sm_count;
    return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

/* The descriptor says all in itself: nobody ever gives one back. */
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                   unsigned int nbResources) {
    uint32_t sms;
    CUresult r = state_ready();
    if (r) return r;
    if (!phDesc || !resources || !nbResources) return CUDA_ERROR_INVALID_VALUE;
    r = add_up(resources, nbResources, &sms);
    if (!r) *phDesc = (CUdevResourceDesc)(uintptr_t)handle_make(HANDLE_RESOURCES, 0, sms);
    return r;
}
