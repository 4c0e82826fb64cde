/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/context/stream_hint.h"

#include <pthread.h>
#include <stdbool.h>

#include "shim/device/device_view.h"
#include "shim/lock.h"

/* One lock for the hints of all streams, which are rarely set. */
static pthread_mutex_t hint_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_waiting(CUsynchronizationPolicy p) {
    return (unsigned)p >= CU_SYNC_POLICY_AUTO && (unsigned)p <= CU_SYNC_POLICY_BLOCKING_SYNC;
}

/* Checks a window. Accesses that miss cannot have the property `persisting`. */
static bool is_window(const CUaccessPolicyWindow *w) {
    return w->num_bytes <= (size_t)device_view(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE) &&
           w->hitRatio >= 0 && w->hitRatio <= 1 &&
           (unsigned)w->hitProp <= CU_ACCESS_PROPERTY_PERSISTING &&
           (unsigned)w->missProp <= CU_ACCESS_PROPERTY_STREAMING;
}

/* Checks a domain map. Devices with one domain accept any map. */
static bool is_domain_map(const CUlaunchMemSyncDomainMap *m) {
    const int count = device_view(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
    return count <= 1 || (m->default_ < count && m->remote < count);
}

static bool is_value(CUlaunchAttributeID attribute, const CUlaunchAttributeValue *v) {
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return is_window(&v->accessPolicyWindow);
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: return is_waiting(v->syncPolicy);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return is_domain_map(&v->memSyncDomainMap);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return (unsigned)v->memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return (unsigned)v->clusterSchedulingPolicyPreference <=
               CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return (int)v->sharedMemCarveout >= -1 && (int)v->sharedMemCarveout <= 100;
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return v->nvlinkUtilCentricScheduling <= 1;
    default: return true;
    }
}

CUresult stream_hint_check(CUlaunchAttributeID attribute, const CUlaunchAttributeValue *value) {
    return is_value(attribute, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set(struct stream_hint *h, CUstreamAttrID attribute, const CUstreamAttrValue *v) {
    if (!is_value(attribute, v)) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: h->window = v->accessPolicyWindow; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: h->waiting = v->syncPolicy; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: h->domains = v->memSyncDomainMap; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: h->domain = v->memSyncDomain; break;
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        h->nvlink = v->nvlinkUtilCentricScheduling;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult get(const struct stream_hint *h, CUstreamAttrID attribute, CUstreamAttrValue *v) {
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: v->accessPolicyWindow = h->window; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: v->syncPolicy = h->waiting; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: v->memSyncDomainMap = h->domains; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: v->memSyncDomain = h->domain; break;
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        v->nvlinkUtilCentricScheduling = h->nvlink;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult stream_hint_set(struct stream_hint *h, CUstreamAttrID attribute,
                         const CUstreamAttrValue *value) {
    const CUstreamAttrValue copy = *value;
    lock_enter(&hint_lock);
    CUresult r = set(h, attribute, &copy);
    lock_leave(&hint_lock);
    return r;
}

CUresult stream_hint_get(const struct stream_hint *h, CUstreamAttrID attribute,
                         CUstreamAttrValue *value) {
    *value = (CUstreamAttrValue){.pad = {0}};
    lock_enter(&hint_lock);
    CUresult r = get(h, attribute, value);
    lock_leave(&hint_lock);
    return r;
}

CUsynchronizationPolicy stream_hint_waiting(const struct stream_hint *h) {
    lock_enter(&hint_lock);
    CUsynchronizationPolicy policy = h->waiting;
    lock_leave(&hint_lock);
    return policy;
}

void stream_hint_copy(struct stream_hint *to, const struct stream_hint *from) {
    lock_enter(&hint_lock);
    *to = *from;
    lock_leave(&hint_lock);
}
