/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the device: its multiprocessors as a resource that is split, and combined for green
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

/* The private part of a resource, which the program does not see. */
struct origin {
    uint32_t kind;  /* ORIGIN_* */
    uint32_t split; /* number of the split that made a part */
};

#define ORIGIN_WHOLE 0x536d7301u /* the resource can be split */
#define ORIGIN_PART 0x536d7302u
#define ORIGIN_REST 0x536d7303u /* the rest of a split into groups; it can be split again */

static struct origin origin_of(const CUdevResource *r) {
    struct origin o;
    memcpy(&o, r->_internal_padding, sizeof(o));
    return o;
}

/* Makes a resource of `count` multiprocessors with the smallest size of a part and the unit of its
 * size. Both come from the device's description, else from CUDA's documented guideline for each
 * architecture. */
static CUdevResource make_sms(uint32_t count, struct origin origin) {
    const uint32_t cc_major = state.conn.device.cc_major;
    const struct description *d = &state.conn.description;
    CUdevResource r = {.type = CU_DEV_RESOURCE_TYPE_SM, .sm = {count, 2, 2}};
    if (cc_major >= 8) r.sm.minSmPartitionSize = 4;
    if (cc_major >= 9) r.sm.minSmPartitionSize = r.sm.smCoscheduledAlignment = 8;
    if (d->sm_partition_least) r.sm.minSmPartitionSize = d->sm_partition_least;
    if (d->sm_partition_unit) r.sm.smCoscheduledAlignment = d->sm_partition_unit;
    memcpy(r._internal_padding, &origin, sizeof(origin));
    return r;
}

/* Describes a resource type. `sms`: the multiprocessors of a green context, or 0 for the whole
 * device. */
static CUresult describe(uint32_t sms, CUdevResource *resource, CUdevResourceType type) {
    if (!resource) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG || type == CU_DEV_RESOURCE_TYPE_WORKQUEUE)
        return refuse_call("work queues as resources of the device");
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

/* The default stream belongs to the current context. Streams here have no work queues in CUDA's
 * sense. */
CUresult cuStreamGetDevResource(CUstream hStream, CUdevResource *resource, CUdevResourceType type) {
    CUresult r = ctx_enter();
    if (r) return r;
    const struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    return describe(s->id == STREAM_LEGACY ? ctx_current()->sms : s->sms, resource, type);
}

/* ---- split into groups of one size ----------------------------------------------------------- */

static uint32_t next_split(void) {
    static _Atomic uint32_t splits;
    return atom_add_relaxed(&splits, 1);
}

/* Returns the size of each group: a multiple of the coscheduling unit, at least the smallest part.
 */
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
    CUresult r = state_ready();
    if (!r) r = check_split(nbGroups, input, useFlags, minCount);
    if (r) return r;
    uint32_t all = input->sm.smCount, size = group_size(&input->sm, useFlags, minCount);
    uint32_t groups = all / size;
    if (!groups) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (result && *nbGroups < groups) groups = *nbGroups;
    struct origin part = {ORIGIN_PART, next_split()};
    uint32_t left = all - groups * size;
    for (uint32_t i = 0; result && i < groups; i++)
        result[i] = make_sms(size, part);
    if (remaining) *remaining = left ? make_sms(left, part) : (CUdevResource){0};
    *nbGroups = groups;
    return CUDA_SUCCESS;
}

/* ---- split into groups of different sizes ---------------------------------------------------- */

#define COSCHEDULED_MAX 32u /* multiprocessors of one group on a device with clusters */
#define LOCALITY_FLAGS                                       \
    ((unsigned)CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID | \
     (unsigned)CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_SUPPLEMENTAL_SMS)

/* Returns how many multiprocessors must be scheduled together; 0: no device offers that number. */
static uint32_t coscheduled(const CU_DEV_SM_RESOURCE_GROUP_PARAMS *p) {
    bool clusters = state.conn.device.cc_major >= 9;
    uint32_t n = p->coscheduledSmCount ? p->coscheduledSmCount : clusters ? 8 : 2;
    return n % 2 == 0 && n <= (clusters ? COSCHEDULED_MAX : 2) ? n : 0;
}

/* The whole device is one domain, number 0. */
static bool is_in_domain(const CU_DEV_SM_RESOURCE_GROUP_PARAMS *p) {
    bool by_domain = p->flags & CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID;
    if (!by_domain) return !(p->flags & LOCALITY_FLAGS);
    return !p->localityDomainId || p->localityDomainId == UINT32_MAX;
}

/* Checks a group's parameters. A given size must be possible; a size of 0 means the multiprocessors
 * that are left. */
static bool is_group(const CU_DEV_SM_RESOURCE_GROUP_PARAMS *p, uint32_t all) {
    uint32_t whole = coscheduled(p), preferred = p->preferredCoscheduledSmCount;
    bool fill = p->flags & CU_DEV_SM_RESOURCE_GROUP_BACKFILL;
    if (p->flags & ~(LOCALITY_FLAGS | CU_DEV_SM_RESOURCE_GROUP_BACKFILL) || !whole) return false;
    if (preferred && preferred % whole) return false;
    return p->smCount % 2 == 0 && p->smCount <= all && (fill || p->smCount % whole == 0);
}

/* Returns the group's share of `left`. The result may be 0, or less than must be scheduled
 * together. */
static uint32_t group_count(const CU_DEV_SM_RESOURCE_GROUP_PARAMS *p, uint32_t left) {
    bool fill = p->flags & CU_DEV_SM_RESOURCE_GROUP_BACKFILL;
    uint32_t whole = fill ? 2 : coscheduled(p);
    return p->smCount ? p->smCount : left / whole * whole;
}

/* Checks all groups against `*left` multiprocessors, and reduces `*left` to those that no group
 * has. `needed`: no group may have fewer than must be scheduled together. */
static CUresult check_groups(const CU_DEV_SM_RESOURCE_GROUP_PARAMS *p, unsigned int groups,
                             bool needed, uint32_t *left) {
    const uint32_t all = *left;
    for (unsigned int i = 0; i < groups; i++) {
        if (!is_group(&p[i], all)) return CUDA_ERROR_INVALID_VALUE;
        if (!is_in_domain(&p[i])) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        uint32_t count = group_count(&p[i], *left);
        if (count > *left || (needed && count < coscheduled(&p[i])))
            return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        *left -= count;
    }
    return CUDA_SUCCESS;
}

static CUdevResource make_group(const CU_DEV_SM_RESOURCE_GROUP_PARAMS *p, struct origin origin) {
    CUdevResource r = make_sms(p->smCount, origin);
    r.sm.smCoscheduledAlignment = coscheduled(p);
    r.sm.flags = p->flags;
    r.sm.localityDomainId = p->localityDomainId;
    return r;
}

CUresult cuDevSmResourceSplit(CUdevResource *result, unsigned int nbGroups,
                              const CUdevResource *input, CUdevResource *remainder,
                              unsigned int flags, CU_DEV_SM_RESOURCE_GROUP_PARAMS *groupParams) {
    CUresult r = state_ready();
    if (r) return r;
    if (!nbGroups || !input || !groupParams || flags) return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    uint32_t kind = origin_of(input).kind, all = input->sm.smCount, left = all;
    if (kind != ORIGIN_WHOLE && kind != ORIGIN_REST)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    r = check_groups(groupParams, nbGroups, result != NULL, &left);
    if (r) return r;
    struct origin part = {ORIGIN_PART, next_split()}, rest = {ORIGIN_REST, part.split};
    for (unsigned int i = 0; i < nbGroups; i++) {
        groupParams[i].smCount = group_count(&groupParams[i], all);
        all -= groupParams[i].smCount;
        if (result) result[i] = make_group(&groupParams[i], part);
    }
    if (remainder) *remainder = left ? make_sms(left, rest) : (CUdevResource){0};
    return CUDA_SUCCESS;
}

/* ---- combined -------------------------------------------------------------------------------- */

static CUresult add_up(const CUdevResource *list, unsigned int count, uint32_t *sms) {
    const struct origin first = origin_of(&list[0]);
    *sms = 0;
    for (unsigned int i = 0; i < count; i++) {
        const struct origin o = origin_of(&list[i]);
        if (list[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        bool known = o.kind >= ORIGIN_WHOLE && o.kind <= ORIGIN_REST;
        bool together = o.kind != ORIGIN_WHOLE && first.kind != ORIGIN_WHOLE &&
                        o.split == first.split &&
                        list[i].sm.smCoscheduledAlignment == list[0].sm.smCoscheduledAlignment;
        if (!known || (i && !together)) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        *sms += list[i].sm.smCount;
    }
    bool there = *sms && *sms <= state.conn.device.sm_count;
    return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

/* The descriptor holds all of its data itself, because no call ever gives one back. */
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
