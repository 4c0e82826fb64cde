/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch attributes, the checks that few launches need, and nodes of graphs. Only nodes allocate
 * memory, for their parameter values.
 */
#include "shim/api/kernel/launch_params.h"

#include <stdlib.h>
#include <string.h>

#include "proto/wire/wire.h"
#include "shim/api/kernel/cluster.h"
#include "shim/api/kernel/occupancy_calls.h"
#include "shim/capture/capture.h"
#include "shim/code/function.h"
#include "shim/code/resolve.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/context/stream_hint.h"
#include "shim/device/caller.h"
#include "shim/graph/registry.h"
#include "shim/graph_exec/node_update.h"
#include "shim/lock.h"

/* The runtime passes a result on unchanged, so a runtime caller gets the result that the runtime
 * shows: 9 for a shape beyond the device's limits, 701 for one beyond the kernel's. Other callers
 * get 1, as for too much shared memory. */
CUresult launch_params_bad_shape(CUresult shown) {
    return caller_is_runtime() ? shown : CUDA_ERROR_INVALID_VALUE;
}

/* Reads the modes of a launch. CUDA_ERROR_INVALID_VALUE: no such mode exists. */
static CUresult read_mode(CUlaunchAttributeID id, const CUlaunchAttributeValue *v,
                          struct launch_modes *m) {
    if (id == CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE)
        m->cluster = v->portableClusterSizeMode;
    if (id == CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE) m->shared = v->sharedMemoryMode;
    CUresult r = stream_hint_check(id, v);
    if (r) return r;
    return m->cluster <= CU_LAUNCH_PORTABLE_CLUSTER_MODE_ALLOW_NON_PORTABLE &&
                   m->shared <= CU_SHARED_MEMORY_MODE_PREFER_OVERSIZED_SHARED_MEMORY
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

/* Reads an attribute into the launch's flags. Attributes that it ignores are hints, or apply to
 * nodes only. Kernels of a stream here run one after the other even where a launch allows an early
 * start. Events of a part of a kernel stand for the whole kernel. */
static void read_flags(const CUlaunchAttribute *a, struct wire_launch *l) {
    const CUlaunchAttributeValue *v = &a->value;
    switch (a->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        if (v->cooperative) l->flags |= WIRE_LAUNCH_COOPERATIVE;
        return;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        l->flags |= cluster_flags(v->clusterDim.x, v->clusterDim.y, v->clusterDim.z);
        return;
    default: return;
    }
}

CUresult launch_params_read_attribute(const CUlaunchAttribute *a, struct wire_launch *l,
                                      struct launch_modes *m) {
    read_flags(a, l);
    return read_mode(a->id, &a->value, m);
}

uint32_t launch_params_most_shared(const struct function *f, const struct launch_modes *m) {
    bool portable = m->shared == CU_SHARED_MEMORY_MODE_REQUIRE_PORTABLE;
    uint32_t all =
        portable ? state.conn.device.shared_per_block_bytes : state.conn.device.shared_optin_bytes;
    return f->info.shared_bytes < all ? all - f->info.shared_bytes : 0;
}

/* All blocks of a cooperative grid must be resident at once. */
static CUresult check_cooperative(const struct wire_launch *l, const struct function *f,
                                  uint32_t sms) {
    uint32_t threads = (uint32_t)l->block[0] * l->block[1] * l->block[2];
    uint64_t resident = (uint64_t)occupancy_calls_resident(f, threads, l->shared_bytes) * sms;
    uint64_t plane = (uint64_t)l->grid[0] * l->grid[1];
    return plane <= resident && plane * l->grid[2] <= resident
               ? CUDA_SUCCESS
               : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

CUresult launch_params_check_together(const struct wire_launch *l, const struct function *f,
                                      const struct launch_modes *m, const struct stream *s) {
    uint32_t sms = occupancy_calls_part(s);
    CUresult r =
        l->flags & WIRE_LAUNCH_CLUSTER ? cluster_check(l, f, m->cluster, sms) : CUDA_SUCCESS;
    return !r && l->flags & WIRE_LAUNCH_COOPERATIVE ? check_cooperative(l, f, sms) : r;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Reads the form that passes one buffer, already laid out. */
static CUresult buffer_of(void **extra, const void **buffer, size_t *bytes) {
    *buffer = NULL;
    *bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            memcpy(bytes, extra[1], sizeof(*bytes));
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return *buffer || !*bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult launch_params_unpack(const struct function *f, void **extra, unsigned char *to) {
    const void *buffer;
    size_t bytes;
    CUresult r = buffer_of(extra, &buffer, &bytes);
    if (r) return r;
    /* A struct's tail padding may be passed or left out. */
    size_t take = bytes < f->info.param_bytes ? bytes : f->info.param_bytes;
    if (take) memcpy(to, buffer, take);
    memset(to + take, 0, f->info.param_bytes - take);
    return CUDA_SUCCESS;
}

/* ---- nodes of graphs ------------------------------------------------------------------------- */

static CUresult gather_values(const struct function *f, void **params, void **extra,
                              struct params_kernel *k) {
    if (f->info.param_count == 0) params = extra = NULL;
    if (f->info.param_count && !params && !extra) return CUDA_ERROR_INVALID_VALUE;
    k->values = calloc(1, f->info.param_bytes + 1u);
    if (!k->values) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = launch_params_gather(f, params, extra, k->values);
    if (r) params_free_kernel(k);
    return r;
}

/* Makes a launch into the parameters of a graph's node. `s`: the stream that captures it, or NULL.
 */
static CUresult make_node(const struct wire_launch *l, CUfunction handle,
                          const struct launch_modes *m, const struct stream *s, void **params,
                          void **extra, struct params *out) {
    struct function *f = function_find(handle);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = resolve_ready(f);
    if (r) return r;
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_KERNEL,
                           .kernel = {.launch = *l, .function = handle}};
    struct wire_launch *kept = &out->kernel.launch;
    kept->param_bytes = f->info.param_bytes;
    r = launch_params_check(kept, f, m, s);
    return r ? r : gather_values(f, params, extra, &out->kernel);
}

/* The launch's attributes become the node's. */
static CUresult set_attributes(struct params_kernel *k, const CUlaunchConfig *config) {
    CUresult r = CUDA_SUCCESS;
    for (unsigned int i = 0; !r && i < config->numAttrs; i++) {
        CUlaunchAttribute *a = &config->attrs[i];
        if (a->id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
            r = node_update_allow(k, &a->value);
        if (!r) params_set_attribute(k, a->id, &a->value);
    }
    return r;
}

CUresult launch_params_capture(const struct wire_launch *l, CUfunction f,
                               const struct launch_modes *m, struct stream *s, void **params,
                               void **extra, const CUlaunchConfig *config) {
    struct params p;
    CUresult r = make_node(l, f, m, s, params, extra, &p);
    if (r) return r;
    if (!config) return capture_add(s, &p);
    lock_enter(&graph_lock);
    r = set_attributes(&p.kernel, config);
    if (r) params_free_kernel(&p.kernel);
    lock_leave(&graph_lock);
    return r ? r : capture_add(s, &p);
}

CUresult launch_params_of_node(const CUDA_KERNEL_NODE_PARAMS_v2 *node, struct params *out) {
    struct wire_launch l = {.grid = {node->gridDimX, node->gridDimY, node->gridDimZ},
                            .shared_bytes = node->sharedMemBytes};
    launch_params_set_block(&l, node->blockDimX, node->blockDimY, node->blockDimZ);
    CUfunction f = node->func ? node->func : (CUfunction)node->kern;
    return make_node(&l, f, &launch_modes_default, NULL, node->kernelParams, node->extra, out);
}

/* Returns the modes that the node's attributes have set. */
static struct launch_modes modes_of(const struct params_kernel *k) {
    struct launch_modes m = launch_modes_default;
    for (uint32_t i = 0; i < k->attribute_count; i++)
        read_mode(k->attributes[i].id, &k->attributes[i].value, &m);
    return m;
}

CUresult launch_params_set_attribute(struct params_kernel *k, CUlaunchAttribute *a) {
    struct wire_launch l = k->launch;
    struct launch_modes m = modes_of(k);
    if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) l.flags &= (uint16_t)~WIRE_LAUNCH_COOPERATIVE;
    if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) l.flags &= WIRE_LAUNCH_COOPERATIVE;
    CUresult r = launch_params_read_attribute(a, &l, &m);
    if (r) return r;
    if (a->id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
        r = node_update_allow(k, &a->value);
        if (r) return r;
    }
    if (k->changing && l.flags & WIRE_LAUNCH_COOPERATIVE)
        return refuse_call("a cooperative kernel node that kernels change");
    const struct function *f = function_find(k->function);
    r = f && l.flags ? launch_params_check_together(&l, f, &m, NULL) : CUDA_SUCCESS;
    if (r) return r;
    k->launch = l;
    return params_set_attribute(k, a->id, &a->value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
