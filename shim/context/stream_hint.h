/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program says of a stream as a whole: which memory of its kernels should stay in the cache,
 * how a thread should wait for it, in which domain its writes are ordered. It is kept and told
 * again; on no device here does a result depend on it. Each belongs to a stream (stream.h); any
 * thread.
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

/* As of a stream of which nothing was said. */
#define STREAM_HINT_FIRST                                                        \
    {                                                                            \
        .waiting = CU_SYNC_POLICY_AUTO, .domains = {.default_ = 0, .remote = 1 } \
    }

/* CUDA_ERROR_INVALID_VALUE, and all as before: it is no attribute of streams, or no window that may
 * be. */
CUresult stream_hint_set(struct stream_hint *h, CUstreamAttrID attribute,
                         const CUstreamAttrValue *value);

/* `value` is written whole; CUDA_ERROR_INVALID_VALUE: no attribute that is kept here. */
CUresult stream_hint_get(const struct stream_hint *h, CUstreamAttrID attribute,
                         CUstreamAttrValue *value);

CUsynchronizationPolicy stream_hint_waiting(const struct stream_hint *h);

/* CUDA_ERROR_INVALID_VALUE: no stream, node or launch can have such a value of an attribute that
 * these share. */
CUresult stream_hint_check(CUlaunchAttributeID attribute, const CUlaunchAttributeValue *value);

void stream_hint_copy(struct stream_hint *to, const struct stream_hint *from);

#endif
