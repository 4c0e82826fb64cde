/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches a kernel: checks the launch, gathers the parameters by the kernel's layout, sends one
 * record. Launch-bound programs depend on this path: no allocation, one lock, and no system call
 * unless the worker sleeps or the ring is full.
 */
#include <string.h>

#include "common/fdutil.h"
#include "proto/gen/prototypes.h"
#include "proto/wire/wire.h"
#include "shim/api/kernel/launch_params.h"
#include "shim/capture/capture.h"
#include "shim/code/function.h"
#include "shim/code/resolve.h"
#include "shim/connection/submit.h"
#include "shim/connection/wait.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/context/stream.h"
#include "shim/context/trace.h"
#include "shim/memory/fifo.h"
#include "shim/memory/mem.h"

#define LAUNCH_SMALL_PARAMS 4096u /* largest parameters of a kernel before CUDA 12.1 */

/* ---- sending --------------------------------------------------------------------------------- */

static inline void note(const struct wire_launch *l) {
    struct learn_launch *latest = &mem_self.latest;
    latest->func = l->func;
    for (int i = 0; i < 3; i++) {
        latest->grid[i] = l->grid[i];
        latest->block[i] = l->block[i];
    }
}

/* Gathers parameters that fit a slot of the ring directly in the slot, so that they are copied only
 * once. False when the ring is full. */
static bool send_in_place(struct wire_launch *l, const struct function *f, void **params,
                          CUresult *result) {
    unsigned char *room = submit_begin(l->rec.stream, &l->rec.seq);
    if (!room) return false;
    memcpy(room, l, sizeof(*l));
    *result = launch_params_gather(f, params, NULL, room + sizeof(*l));
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
    CUresult r = launch_params_gather(f, params, extra, room);
    return r ? r : submit_ordered(l, sizeof(*l), room, l->param_bytes, NULL);
}

/* A function of its own, so that only kernels with large parameters pay for a large frame. */
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

/* Sends the launch. A kernel without parameters may be given neither of their two forms. */
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

static CUresult launch(struct wire_launch *l, CUfunction handle, const struct launch_modes *m,
                       CUstream hStream, void **params, void **extra) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct function *f = function_find(handle);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    r = resolve_ready(f);
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (stream_captured(s)) return launch_params_capture(l, handle, m, s, params, extra, NULL);
    r = launch_params_check(l, f, m, s);
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
    launch_params_set_block(&l, blockDimX, blockDimY, blockDimZ);
    l.shared_bytes = sharedMemBytes;
    l.flags = 0;
    return launch(&l, f, &launch_modes_default, hStream, kernelParams, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void **kernelParams) {
    struct wire_launch l = {.grid = {gridDimX, gridDimY, gridDimZ},
                            .shared_bytes = sharedMemBytes,
                            .flags = WIRE_LAUNCH_COOPERATIVE};
    launch_params_set_block(&l, blockDimX, blockDimY, blockDimZ);
    return launch(&l, f, &launch_modes_default, hStream, kernelParams, NULL);
}

/* Records an event of a part of the kernel. `data`: the data of edges from the event in a captured
 * stream. */
static CUresult record_event(CUevent event, unsigned int flags, CUstream stream,
                             CUgraphEdgeData data) {
    struct stream *s = stream_find(stream);
    struct event *e = event_find(event);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    return s && stream_captured(s) && !flags ? capture_record_port(s, e, data)
                                             : cuEventRecordWithFlags(event, stream, flags);
}

/* Records the events that the launch attributes ask for. */
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

/* True for a launch that kernels may update. Only nodes of graphs can be updated. */
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
    launch_params_set_block(&l, config->blockDimX, config->blockDimY, config->blockDimZ);
    struct launch_modes m = launch_modes_default;
    for (unsigned int i = 0; !r && i < config->numAttrs; i++)
        r = launch_params_read_attribute(&config->attrs[i], &l, &m);
    if (r) return r;
    CUstream stream = config->hStream ? config->hStream : null_stream;
    struct stream *s = config->numAttrs && ctx_current() ? stream_find(stream) : NULL;
    bool captured = s && stream_captured(s);
    if (!captured && is_changing(config)) return CUDA_ERROR_INVALID_VALUE;
    r = captured ? launch_params_capture(&l, f, &m, s, params, extra, config)
                 : launch(&l, f, &m, stream, params, extra);
    return r ? r : record_events(config, stream);
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
