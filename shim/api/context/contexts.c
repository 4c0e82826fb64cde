/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about contexts, and the release of everything that ends with a context.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/capture/capture.h"
#include "shim/code/image.h"
#include "shim/connection/process_exit.h"
#include "shim/connection/reply.h"
#include "shim/connection/text.h"
#include "shim/context/context_storage.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/context/limits.h"
#include "shim/context/mark.h"
#include "shim/context/stream.h"
#include "shim/device/device_view.h"
#include "shim/graph/graph_memory.h"
#include "shim/host_memory/registered.h"
#include "shim/ipc/opened.h"
#include "shim/memory/fifo.h"
#include "shim/memory/mem.h"
#include "shim/memory/pool.h"
#include "shim/texture/array.h"
#include "shim/texture/texture.h"

/* ---- life ------------------------------------------------------------------------------------ */

/* Releases everything that the context owns; its variables start anew when they are next used.
 * Works without the daemon as well: then only the shim's own records are closed. A process that is
 * exiting waits for no work: the daemon cancels the work and frees the job's memory once the
 * process has ended. */
static void clear(struct context *c) {
    if (process_exit_begun()) {
        text_flush();
        return;
    }
    capture_release(c->index);
    stream_drain();
    text_flush();
    image_release(c->index);
    event_release(c->index);
    stream_release(c->index);
    pool_release(c->index);
    graph_memory_release(c->index);
    texture_release(c->index);
    array_release(c->index);
    opened_release(c->index);
    mem_release(c->index);
    if (c->index == CTX_PRIMARY) registered_clear();
    context_storage_release(c->index);
}

/* Sets a limit that the device enforces or that kernels are given. `value` is then the limit in
 * force. */
static CUresult set_on_device(CUlimit limit, size_t *value) {
    struct wire_limit rec = {.rec = {.op = WIRE_LIMIT}, .limit = (uint32_t)limit, .value = *value};
    struct reply answer;
    CUresult r = CUDA_SUCCESS;
    switch (limit) {
    case CU_LIMIT_PRINTF_FIFO_SIZE: r = fifo_set(*value); break;
    case CU_LIMIT_STACK_SIZE:
    case CU_LIMIT_MALLOC_HEAP_SIZE:
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: break;
    default: return CUDA_SUCCESS;
    }
    if (!r) r = reply_call(&rec, sizeof(rec), NULL, 0, &answer);
    if (!r && answer.bytes == sizeof(*value)) memcpy(value, answer.data, sizeof(*value));
    return r;
}

/* Restores the limits after the context ended: to those that the other contexts asked for, or else
 * to the device's defaults. */
static void restore_limits(const struct context *c) {
    for (uint32_t k = 0; k < CTX_LIMITS; k++) {
        CUlimit limit = (CUlimit)k;
        size_t now = limits_with(c, limit, device_view_limit(limit));
        if (limits_get(c, limit) == now) continue;
        if (limit == CU_LIMIT_PRINTF_FIFO_SIZE)
            fifo_reset(now);
        else
            set_on_device(limit, &now);
    }
}

static CUresult check_device(CUdevice dev) {
    return dev == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    *pctx = ctx_retain()->handle;
    return CUDA_SUCCESS;
}

static uint32_t end_primary(bool all) {
    bool ended;
    uint32_t holders = ctx_release(all, &ended);
    if (ended) {
        clear(ctx_primary());
        if (!process_exit_begun()) restore_limits(ctx_primary());
    }
    return holders;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (r) return r;
    return end_primary(false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (r) return r;
    end_primary(true);
    image_restore_managed();
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (r) return r;
    r = ctx_check_flags(flags);
    if (!r) ctx_primary()->flags = flags;
    return r;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (r) return r;
    if (flags) *flags = ctx_primary()->flags;
    if (active) *active = atom_load_relaxed(&ctx_primary()->live) != 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev) {
    CUresult r = state_live();
    if (!r) r = check_device(dev);
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    r = ctx_check_flags(flags);
    if (r) return r;
    struct context *c = ctx_create(flags);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    *pctx = c->handle;
    return ctx_push(c);
}

CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                        unsigned int flags, CUdevice dev) {
    if (numParams > 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return cuCtxCreate_v2(pctx, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
                        CUdevice dev) {
    if (ctxCreateParams && ctxCreateParams->numExecAffinityParams > 0)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    if (ctxCreateParams && ctxCreateParams->cigParams) return CUDA_ERROR_NOT_SUPPORTED;
    return cuCtxCreate_v2(pctx, flags, dev);
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
    CUresult r = state_ready();
    if (r) return r;
    struct context *c = ctx ? ctx_find(ctx) : NULL;
    if (!c || c->index == CTX_PRIMARY || !ctx_end(c, ctx)) return CUDA_ERROR_INVALID_CONTEXT;
    if (ctx_current() == c) ctx_pop();
    clear(c);
    restore_limits(c);
    ctx_free(c);
    return CUDA_SUCCESS;
}

/* ---- attach and detach: contexts counted by their users, as before CUDA 4 -------------------- */

CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pctx || flags) return CUDA_ERROR_INVALID_VALUE;
    struct context *c = ctx_current();
    if (c->sms) return CUDA_ERROR_NOT_SUPPORTED;
    ctx_attach(c);
    *pctx = c->handle;
    return CUDA_SUCCESS;
}

/* The last detach destroys the context. */
CUresult cuCtxDetach(CUcontext ctx) {
    CUresult r = state_ready();
    if (r) return r;
    struct context *c = ctx ? ctx_find(ctx) : NULL;
    if (!c || c != ctx_current() || c->sms) return CUDA_ERROR_INVALID_CONTEXT;
    if (c->index == CTX_PRIMARY) return cuDevicePrimaryCtxRelease(0);
    return ctx_detach(c) == 1 ? cuCtxDestroy_v2(ctx) : CUDA_SUCCESS;
}

/* ---- the current context --------------------------------------------------------------------- */

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
    CUresult r = state_ready();
    if (r) return r;
    struct context *c = ctx ? ctx_find(ctx) : NULL;
    return c ? ctx_push(c) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx) {
    CUresult r = state_ready();
    if (r) return r;
    struct context *c = ctx_current();
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    if (pctx) *pctx = c->handle;
    ctx_pop();
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
    CUresult r = state_ready();
    if (r) return r;
    if (!ctx) {
        if (ctx_current()) ctx_pop();
        return CUDA_SUCCESS;
    }
    struct context *c = ctx_find(ctx);
    return c ? ctx_set(c) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetCurrent(CUcontext *pctx) {
    CUresult r = state_ready();
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    struct context *c = ctx_current();
    *pctx = c ? c->handle : NULL;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
    return cuCtxGetDevice_v2(device, NULL);
}

/* Finds the context that `ctx` stands for, or returns the error to give. */
static CUresult mean(CUcontext ctx, struct context **out) {
    CUresult r = state_ready();
    if (r) return r;
    *out = ctx_find(ctx);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx) {
    struct context *c;
    CUresult r = mean(ctx, &c);
    if (r) return r;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *flags) {
    struct context *c;
    CUresult r = mean(NULL, &c);
    if (r) return r;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = c->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
    struct context *c;
    CUresult r = mean(NULL, &c);
    if (r) return r;
    r = ctx_check_flags(flags);
    if (!r) c->flags = flags;
    return r;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId) {
    struct context *c;
    CUresult r = mean(ctx, &c);
    if (r) return r;
    if (!ctxId) return CUDA_ERROR_INVALID_VALUE;
    *ctxId = c->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pExecAffinity) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    uint32_t part = ctx_current()->sms;
    pExecAffinity->type = type;
    pExecAffinity->param.smCount.val = part ? part : state.conn.device.sm_count;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version) {
    struct context *c;
    CUresult r = mean(ctx, &c);
    if (r) return r;
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = c->api_version;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    CUresult r = ctx_enter();
    if (!r) r = capture_forbid_waiting();
    if (!r) {
        enum wait_how before = wait_as(ctx_waiting(ctx_current()));
        r = stream_drain();
        wait_as(before);
    }
    if (state_ready() == CUDA_SUCCESS) text_flush();
    if (r) return r;
    pool_release_threshold();
    mark_idle();
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
    if (!ctx) return cuCtxSynchronize();
    struct context *c;
    CUresult r = mean(ctx, &c);
    if (!r) r = ctx_push(c);
    if (r) return r;
    r = cuCtxSynchronize();
    ctx_pop();
    return r;
}

/* ---- settings: stored and reported; the device ignores most of them -------------------------- */

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct context *c = ctx_current();
    r = limits_adjust(limit, &value);
    if (r) return r;
    size_t before = limits_get(c, limit), after = limits_with(c, limit, value);
    if (limits_is_late(c, limit) && after != before) return CUDA_ERROR_INVALID_VALUE;
    if (after == before) {
        c->limits[limit] = value;
        return CUDA_SUCCESS;
    }
    size_t force = after;
    r = set_on_device(limit, &force);
    if (!r) c->limits[limit] = force == after ? value : force;
    return r;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pvalue) return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)limit >= CTX_LIMITS) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *pvalue = limits_get(ctx_current(), limit);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *pconfig) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pconfig) return CUDA_ERROR_INVALID_VALUE;
    *pconfig = ctx_current()->cache;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    CUresult r = ctx_enter();
    if (r) return r;
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    ctx_current()->cache = config;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pConfig) return CUDA_ERROR_INVALID_VALUE;
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE; /* fixed on every device since compute
                                                            capability 5.0 */
    return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    CUresult r = ctx_enter();
    if (r) return r;
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS; /* no effect where the size is fixed, as CUDA documents it */
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (leastPriority) *leastPriority = state.conn.description.least_priority;
    if (greatestPriority) *greatestPriority = state.conn.description.greatest_priority;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void) {
    return ctx_enter();
}

/* There is only one device, which is not its own peer. */
CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    return peerContext && ctx_find(peerContext) ? CUDA_ERROR_INVALID_DEVICE
                                                : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
    CUresult r = ctx_enter();
    if (r) return r;
    return peerContext && ctx_find(peerContext) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
                                                : CUDA_ERROR_INVALID_CONTEXT;
}
