/* SPDX-License-Identifier: Apache-2.0
 *
 * Launching a kernel: check, gather the parameters by the kernel's layout, one record. This is the
 * path that launch-bound programs live on: no allocation, no system call, one lock.
 */
#include "shim/api/kernel/launch.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "proto/gen/prototypes.h"
#include "proto/wire/wire.h"
#include "shim/api/kernel/cluster.h"
#include "shim/api/kernel/occupancy.h"
#include "shim/capture/capture.h"
#include "shim/code/function.h"
#include "shim/code/resolve.h"
#include "shim/connection/refuse.h"
#include "shim/connection/submit.h"
#include "shim/connection/wait.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/context/stream.h"
#include "shim/context/trace.h"
#include "shim/device/asker.h"
#include "shim/graph/registry.h"
#include "shim/graph_exec/changing.h"
#include "shim/lock.h"
#include "shim/memory/fifo.h"
#include "shim/memory/mem.h"

/* cudaErrorInvalidConfiguration: no driver result has this number, yet the runtime shows it. */
#define LAUNCH_INVALID_CONFIGURATION ((CUresult)9)
#define LAUNCH_SMALL_PARAMS 4096u /* what kernels had at most before CUDA 12.1 */

/* The record has 16 bits for each; what does not fit is too large on any device (description.c),
 * and stays so. */
static inline void set_block(struct wire_launch *l, uint32_t x, uint32_t y, uint32_t z) {
    l->block[0] = (uint16_t)(x < UINT16_MAX ? x : UINT16_MAX);
    l->block[1] = (uint16_t)(y < UINT16_MAX ? y : UINT16_MAX);
    l->block[2] = (uint16_t)(z < UINT16_MAX ? z : UINT16_MAX);
}

/* The runtime hands on what it is given unchanged, so that this must be what it shows: 9 for a
 * shape that no device takes, 701 for one that this kernel does not. Others are given 1, as for too
 * much shared memory. */
static __attribute__((noinline, cold)) CUresult bad_shape(CUresult shown) {
    return asker_is_runtime() ? shown : CUDA_ERROR_INVALID_VALUE;
}

/* One of the first attributes: known, positive, and nobody's but the device's. */
static inline uint32_t most(int attribute) {
    return (uint32_t)state.conn.description.attributes[attribute];
}

static CUresult check(const struct wire_launch *l, const struct function *f, uint32_t most_shared) {
    const uint32_t *g = l->grid, *required = f->info.req_block;
    const uint32_t b[3] = {l->block[0], l->block[1], l->block[2]};
    for (int i = 0; i < 3; i++)
        if (g[i] - 1 >= most(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i) ||
            b[i] - 1 >= most(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i))
            return bad_shape(LAUNCH_INVALID_CONFIGURATION);
    uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
    if (threads > most(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))
        return bad_shape(LAUNCH_INVALID_CONFIGURATION);
    if (threads > f->info.max_threads) return bad_shape(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    if (required[0] && (b[0] != required[0] || b[1] != required[1] || b[2] != required[2]))
        return CUDA_ERROR_INVALID_VALUE;
    return l->shared_bytes <= most_shared ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* What a launch says itself, whatever its kernel's attributes say. */
struct modes {
    CUlaunchAttributePortableClusterMode cluster;
    CUsharedMemoryMode shared;
};

static const struct modes default_modes = {CU_LAUNCH_PORTABLE_CLUSTER_MODE_DEFAULT,
                                           CU_SHARED_MEMORY_MODE_DEFAULT};

/* CUDA_ERROR_INVALID_VALUE: such a mode there is not. */
static CUresult read_mode(CUlaunchAttributeID id, const CUlaunchAttributeValue *v,
                          struct modes *m) {
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

/* More than kernels opt in for there is not. */
static uint32_t most_shared(const struct function *f, const struct modes *m) {
    if (m->shared == CU_SHARED_MEMORY_MODE_DEFAULT) return f->max_dynamic;
    bool portable = m->shared == CU_SHARED_MEMORY_MODE_REQUIRE_PORTABLE;
    uint32_t all =
        portable ? state.conn.device.shared_per_block_bytes : state.conn.device.shared_optin_bytes;
    return f->info.shared_bytes < all ? all - f->info.shared_bytes : 0;
}

/* All blocks of a cooperative grid must be resident at once. */
static CUresult check_cooperative(const struct wire_launch *l, const struct function *f,
                                  uint32_t sms) {
    uint32_t threads = (uint32_t)l->block[0] * l->block[1] * l->block[2];
    uint64_t resident = (uint64_t)occupancy_resident(f, threads, l->shared_bytes) * sms;
    uint64_t plane = (uint64_t)l->grid[0] * l->grid[1];
    return plane <= resident && plane * l->grid[2] <= resident
               ? CUDA_SUCCESS
               : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

/* What flags ask for, of blocks together; `s`: as occupancy_part has it. */
static __attribute__((noinline)) CUresult check_together(const struct wire_launch *l,
                                                         const struct function *f,
                                                         const struct modes *m,
                                                         const struct stream *s) {
    uint32_t sms = occupancy_part(s);
    CUresult r =
        l->flags & WIRE_LAUNCH_CLUSTER ? cluster_check(l, f, m->cluster, sms) : CUDA_SUCCESS;
    return !r && l->flags & WIRE_LAUNCH_COOPERATIVE ? check_cooperative(l, f, sms) : r;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static inline CUresult gather(const struct function *f, void **params, unsigned char *to) {
    for (uint32_t i = 0; i < f->info.param_count; i++) {
        const struct wire_param *p = &f->params[i];
        if (!params[i]) return CUDA_ERROR_INVALID_VALUE;
        /* Fixed sizes become single moves. */
        switch (p->bytes) {
        case 4: memcpy(to + p->offset, params[i], 4); break;
        case 8: memcpy(to + p->offset, params[i], 8); break;
        default: memcpy(to + p->offset, params[i], p->bytes);
        }
    }
    return CUDA_SUCCESS;
}

/* The form that passes one buffer, already laid out. */
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

static CUresult unpack(const struct function *f, void **extra, unsigned char *to) {
    const void *buffer;
    size_t bytes;
    CUresult r = buffer_of(extra, &buffer, &bytes);
    if (r) return r;
    /* A struct's tail padding may be passed or not. */
    size_t take = bytes < f->info.param_bytes ? bytes : f->info.param_bytes;
    if (take) memcpy(to, buffer, take);
    memset(to + take, 0, f->info.param_bytes - take);
    return CUDA_SUCCESS;
}

/* ---- sending --------------------------------------------------------------------------------- */

static inline void note(const struct wire_launch *l) {
    struct learn_launch *latest = &mem_self.latest;
    latest->func = l->func;
    for (int i = 0; i < 3; i++) {
        latest->grid[i] = l->grid[i];
        latest->block[i] = l->block[i];
    }
}

/* What fits a slot of the ring is gathered there, and copied only once. False when the ring is
 * full.
 */
static bool send_in_place(struct wire_launch *l, const struct function *f, void **params,
                          CUresult *result) {
    unsigned char *room = submit_begin(l->rec.stream, &l->rec.seq);
    if (!room) return false;
    memcpy(room, l, sizeof(*l));
    *result = gather(f, params, room + sizeof(*l));
    if (*result)
        submit_cancel();
    else
        submit_end(l->rec.stream, l->rec.seq, (uint32_t)sizeof(*l) + l->param_bytes);
    return true;
}

static inline __attribute__((always_inline)) CUresult send_from(struct wire_launch *l,
                                                                const struct function *f,
                                                                void **params, void **extra,
                                                                unsigned char *room) {
    CUresult r = params ? gather(f, params, room) : extra ? unpack(f, extra, room) : CUDA_SUCCESS;
    return r ? r : submit_ordered(l, sizeof(*l), room, l->param_bytes, NULL);
}

/* Apart, so that only kernels that need it pay for a large frame. */
static __attribute__((noinline)) CUresult
send_large(struct wire_launch *l, const struct function *f, void **params, void **extra) {
    unsigned char room[WIRE_PARAM_MAX];
    return send_from(l, f, params, extra, room);
}

static __attribute__((noinline)) CUresult
send_small(struct wire_launch *l, const struct function *f, void **params, void **extra) {
    unsigned char room[LAUNCH_SMALL_PARAMS];
    return send_from(l, f, params, extra, room);
}

/* A kernel without parameters may be given neither form. */
static CUresult send(struct wire_launch *l, const struct function *f, void **params, void **extra) {
    CUresult r;
    if (f->info.param_count == 0)
        params = extra = NULL;
    else if (!params && !extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (!extra && sizeof(*l) + l->param_bytes <= RING_SLOT_BODY && send_in_place(l, f, params, &r))
        return r;
    return l->param_bytes > LAUNCH_SMALL_PARAMS ? send_large(l, f, params, extra)
                                                : send_small(l, f, params, extra);
}

/* ---- kept for a graph ------------------------------------------------------------------------ */

static CUresult gather_kept(const struct function *f, void **params, void **extra,
                            struct params_kernel *k) {
    if (f->info.param_count == 0) params = extra = NULL;
    if (f->info.param_count && !params && !extra) return CUDA_ERROR_INVALID_VALUE;
    k->values = calloc(1, f->info.param_bytes + 1u);
    if (!k->values) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = params  ? gather(f, params, k->values)
                 : extra ? unpack(f, extra, k->values)
                         : CUDA_SUCCESS;
    if (r) params_free_kernel(k);
    return r;
}

/* What a launch does, as a graph keeps it; `s`: in which it is captured, or NULL. */
static CUresult keep_launch(const struct wire_launch *l, CUfunction handle, const struct modes *m,
                            const struct stream *s, void **params, void **extra,
                            struct params *out) {
    struct function *f = function_find(handle);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = resolve_ready(f);
    if (r) return r;
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_KERNEL,
                           .kernel = {.launch = *l, .function = handle}};
    struct wire_launch *kept = &out->kernel.launch;
    if (!(kept->flags & WIRE_LAUNCH_CLUSTER)) kept->flags |= f->launch_flags;
    kept->param_bytes = f->info.param_bytes;
    r = check(kept, f, most_shared(f, m));
    if (!r && kept->flags) r = check_together(kept, f, m, s);
    if (r) return r;
    return gather_kept(f, params, extra, &out->kernel);
}

/* What the launch says of itself, as a node has it. */
static CUresult keep_attributes(struct params_kernel *k, const CUlaunchConfig *config) {
    CUresult r = CUDA_SUCCESS;
    for (unsigned int i = 0; !r && i < config->numAttrs; i++) {
        CUlaunchAttribute *a = &config->attrs[i];
        if (a->id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
            r = changing_allow(k, &a->value);
        if (!r) params_set_attribute(k, a->id, &a->value);
    }
    return r;
}

static __attribute__((noinline)) CUresult capture_launch(const struct wire_launch *l, CUfunction f,
                                                         const struct modes *m, struct stream *s,
                                                         void **params, void **extra,
                                                         const CUlaunchConfig *config) {
    struct params p;
    CUresult r = keep_launch(l, f, m, s, params, extra, &p);
    if (r) return r;
    if (!config) return capture_add(s, &p);
    lock_enter(&graph_lock);
    r = keep_attributes(&p.kernel, config);
    if (r) params_free_kernel(&p.kernel);
    lock_leave(&graph_lock);
    return r ? r : capture_add(s, &p);
}

static __attribute__((noinline, cold)) void trace(const struct wire_launch *l,
                                                  const struct function *f, const struct stream *s,
                                                  uint64_t called_ns) {
    struct trace_item item = {
        .called_ns = called_ns,
        .returned_ns = fdutil_now_ns(),
        .kernel = {.name = f->name,
                   .registers = f->info.regs,
                   .shared_bytes = f->info.shared_bytes,
                   .dynamic_bytes = l->shared_bytes,
                   .local_bytes = f->info.local_bytes},
    };
    for (int i = 0; i < 3; i++) {
        item.kernel.grid[i] = l->grid[i];
        item.kernel.block[i] = l->block[i];
    }
    trace_launch(&item, s->id, s->owner);
}

static CUresult launch(struct wire_launch *l, CUfunction handle, const struct modes *m,
                       CUstream hStream, void **params, void **extra) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct function *f = function_find(handle);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    r = resolve_ready(f);
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (stream_captured(s)) return capture_launch(l, handle, m, s, params, extra, NULL);
    if (!(l->flags & WIRE_LAUNCH_CLUSTER)) l->flags |= f->launch_flags;
    r = check(l, f, most_shared(f, m));
    if (!r && l->flags) r = check_together(l, f, m, s);
    if (r) return r;
    l->rec = (struct wire_record){.op = WIRE_LAUNCH, .stream = s->id};
    l->func = f->id;
    l->param_bytes = f->info.param_bytes;
    note(l);
    if (__builtin_expect(f->info.launches & WIRE_CALLS, 0))
        fifo_launch(f->info.launches & WIRE_CALLS);
    uint64_t called_ns = trace_on() ? fdutil_now_ns() : 0;
    r = send(l, f, params, extra);
    if (called_ns && !r) trace(l, f, s, called_ns);
    return r || !state.launch_blocking ? r : wait_stream(s->id, l->rec.seq);
}

/* ---- the calls ------------------------------------------------------------------------------- */

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                        unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                        unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                        void **kernelParams, void **extra) {
    struct wire_launch l;
    l.grid[0] = gridDimX;
    l.grid[1] = gridDimY;
    l.grid[2] = gridDimZ;
    set_block(&l, blockDimX, blockDimY, blockDimZ);
    l.shared_bytes = sharedMemBytes;
    l.flags = 0;
    return launch(&l, f, &default_modes, hStream, kernelParams, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void **kernelParams) {
    struct wire_launch l = {.grid = {gridDimX, gridDimY, gridDimZ},
                            .shared_bytes = sharedMemBytes,
                            .flags = WIRE_LAUNCH_COOPERATIVE};
    set_block(&l, blockDimX, blockDimY, blockDimZ);
    return launch(&l, f, &default_modes, hStream, kernelParams, NULL);
}

/* What is not read is a hint, or is said of nodes alone. Kernels of a stream follow each other
 * here, whatever is said of beginning early; and events of a part of a kernel are of all of it. */
static void read_attribute(const CUlaunchAttribute *a, struct wire_launch *l) {
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

/* Behind a part of the kernel; `data`: of the edges from it, where it is captured. */
static CUresult record_event(CUevent event, unsigned int flags, CUstream stream,
                             CUgraphEdgeData data) {
    struct stream *s = stream_find(stream);
    struct event *e = event_find(event);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    return s && stream_captured(s) && !flags ? capture_record_port(s, e, data)
                                             : cuEventRecordWithFlags(event, stream, flags);
}

/* Records the events that are asked for. */
static CUresult record_events(const CUlaunchConfig *config, CUstream stream) {
    const CUgraphEdgeData begun = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER};
    const CUgraphEdgeData early = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                   .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    CUresult r = CUDA_SUCCESS;
    for (unsigned int i = 0; !r && i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *v = &config->attrs[i].value;
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
            CUgraphEdgeData data = early;
            if (v->programmaticEvent.triggerAtBlockStart) data.from_port = begun.from_port;
            r = record_event(v->programmaticEvent.event, (unsigned int)v->programmaticEvent.flags,
                             stream, data);
        } else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            r = record_event(v->launchCompletionEvent.event,
                             (unsigned int)v->launchCompletionEvent.flags, stream, begun);
    }
    return r;
}

/* Kernels may change it, which only nodes of graphs are. */
static bool is_changing(const CUlaunchConfig *config) {
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE &&
            config->attrs[i].value.deviceUpdatableKernelNode.deviceUpdatable)
            return true;
    return false;
}

static CUresult read_config(const CUlaunchConfig *config, CUstream null_stream, CUfunction f,
                            void **params, void **extra) {
    CUresult r = state_ready();
    if (r) return r;
    if (!config || (config->numAttrs && !config->attrs)) return CUDA_ERROR_INVALID_VALUE;
    struct wire_launch l = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .shared_bytes = config->sharedMemBytes,
    };
    set_block(&l, config->blockDimX, config->blockDimY, config->blockDimZ);
    struct modes m = default_modes;
    for (unsigned int i = 0; !r && i < config->numAttrs; i++) {
        read_attribute(&config->attrs[i], &l);
        r = read_mode(config->attrs[i].id, &config->attrs[i].value, &m);
    }
    if (r) return r;
    CUstream stream = config->hStream ? config->hStream : null_stream;
    struct stream *s = config->numAttrs && ctx_current() ? stream_find(stream) : NULL;
    bool captured = s && stream_captured(s);
    if (!captured && is_changing(config)) return CUDA_ERROR_INVALID_VALUE;
    r = captured ? capture_launch(&l, f, &m, s, params, extra, config)
                 : launch(&l, f, &m, stream, params, extra);
    return r ? r : record_events(config, stream);
}

CUresult launch_params(const CUDA_KERNEL_NODE_PARAMS_v2 *node, struct params *out) {
    struct wire_launch l = {.grid = {node->gridDimX, node->gridDimY, node->gridDimZ},
                            .shared_bytes = node->sharedMemBytes};
    set_block(&l, node->blockDimX, node->blockDimY, node->blockDimZ);
    CUfunction f = node->func ? node->func : (CUfunction)node->kern;
    return keep_launch(&l, f, &default_modes, NULL, node->kernelParams, node->extra, out);
}

/* What a node says of itself already. */
static struct modes modes_of(const struct params_kernel *k) {
    struct modes m = default_modes;
    for (uint32_t i = 0; i < k->attribute_count; i++)
        read_mode(k->attributes[i].id, &k->attributes[i].value, &m);
    return m;
}

CUresult launch_attribute(struct params_kernel *k, CUlaunchAttribute *a) {
    struct wire_launch l = k->launch;
    struct modes m = modes_of(k);
    CUresult mode = read_mode(a->id, &a->value, &m);
    if (mode) return mode;
    if (a->id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
        CUresult r = changing_allow(k, &a->value);
        if (r) return r;
    }
    if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) l.flags &= (uint16_t)~WIRE_LAUNCH_COOPERATIVE;
    if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) l.flags &= WIRE_LAUNCH_COOPERATIVE;
    read_attribute(a, &l);
    if (k->changing && l.flags & WIRE_LAUNCH_COOPERATIVE)
        return refuse_call("a cooperative kernel node that kernels change");
    const struct function *f = function_find(k->function);
    CUresult r = f && l.flags ? check_together(&l, f, &m, NULL) : CUDA_SUCCESS;
    if (r) return r;
    k->launch = l;
    return params_set_attribute(k, a->id, &a->value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                          void **extra) {
    return read_config(config, CU_STREAM_LEGACY, f, kernelParams, extra);
}

/* The stream is inside the configuration, so this form is not generated. */
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                               void **extra) {
    return read_config(config, CU_STREAM_PER_THREAD, f, kernelParams, extra);
}
