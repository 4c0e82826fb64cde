/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints about a stream as a whole: the memory of its kernels that should stay in the cache, how a
 * thread should wait for it, the domain in which its writes are ordered. The shim stores and
 * reports them; on no device here does a result depend on them. Each set belongs to a stream
 * (stream.h). Any thread.
 */
#ifndef SHIM_CONTEXT_STREAM_HINT_H
#define SHIM_CONTEXT_STREAM_HINT_H

#include "proto/cuda/cuda_abi.h"

struct stream_hint {
    CUaccessPolicyWindow window;
    CUsynchronizationPolicy waiting;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
    unsigned int nvlink; /* nvlinkUtilCentricScheduling */
};

/* The hints of a stream for which the program set none. */
#define STREAM_HINT_FIRST                                                        \
    {                                                                            \
        .waiting = CU_SYNC_POLICY_AUTO, .domains = {.default_ = 0, .remote = 1 } \
    }

/* Sets a hint. CUDA_ERROR_INVALID_VALUE, with nothing changed: streams have no such attribute, or
 * the value is out of range. */
CUresult stream_hint_set(struct stream_hint *h, CUstreamAttrID attribute,
                         const CUstreamAttrValue *value);

/* Writes all bytes of `value`. CUDA_ERROR_INVALID_VALUE: the attribute is not stored here. */
CUresult stream_hint_get(const struct stream_hint *h, CUstreamAttrID attribute,
                         CUstreamAttrValue *value);

CUsynchronizationPolicy stream_hint_waiting(const struct stream_hint *h);

/* Checks a value of the attributes that streams, nodes and launches share.
 * CUDA_ERROR_INVALID_VALUE: none of them can have it. */
CUresult stream_hint_check(CUlaunchAttributeID attribute, const CUlaunchAttributeValue *value);

void stream_hint_copy(struct stream_hint *to, const struct stream_hint *from);

#endif
