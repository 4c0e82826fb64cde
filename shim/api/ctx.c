/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of contexts, their life and end, and the calls about the current one.
 */
#include "shim/api/ctx.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/api/event.h"
#include "shim/api/stream.h"
#include "shim/code/image.h"
#include "shim/connection/mark.h"
#include "shim/connection/text.h"
#include "shim/handle.h"
#include "shim/memory/hostmem.h"
#include "shim/memory/mem.h"
#include "shim/memory/pool.h"
#include "shim/private/cls.h"

#define CTX_API_VERSION 3020u /* what drivers have reported since CUDA 3.2 */

__thread struct ctx_thread *ctx_self;

static struct context contexts[CTX_MAX];
static pthread_mutex_t ctx_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long last_id;

/* ---- threads --------------------------------------------------------------------------------- */

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void thread_end(void *arg) {
    struct ctx_thread *t = arg;
    if (t->own_stream && state_ready() == CUDA_SUCCESS) stream_close(t->own_stream);
    ctx_self = NULL;
    free(t);
}

static void make_key(void) {
    pthread_key_create(&thread_key, thread_end);
}

struct ctx_thread *ctx_thread(void) {
    if (ctx_self) return ctx_self;
    pthread_once(&thread_once, make_key);
    ctx_self = calloc(1, sizeof(*ctx_self));
    if (ctx_self) pthread_setspecific(thread_key, ctx_self);
    return ctx_self;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct context *ctx_find(CUcontext handle) {
    if (!handle) return ctx_current();
    uint32_t index = handle_index(HANDLE_CONTEXT, handle);
    if (index >= CTX_MAX || contexts[index].handle != handle) return NULL;
    return &contexts[index];
}

struct context *ctx_at(uint32_t index) {
    return &contexts[index];
}

static void start(struct context *c, uint32_t index, unsigned int flags) {
    c->index = index;
    c->flags = flags;
    c->api_version = CTX_API_VERSION;
    c->id = ++last_id;
    c->limits[CU_LIMIT_STACK_SIZE] = 1024;
    c->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = WIRE_TEXT_BYTES;
    c->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8u << 20;
    c->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    c->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    c->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 128;
    c->cache = CU_FUNC_CACHE_PREFER_NONE;
    c->banks = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    c->handle = (CUcontext)(uintptr_t)handle_make(HANDLE_CONTEXT, c->generation, index);
    atom_store_release(&c->live, 1);
}

/* The primary context has a handle from the start and lives while somebody retains it. */
struct context *ctx_primary(void) {
    struct context *c = &contexts[CTX_PRIMARY];
    if (!c->handle) c->handle = (CUcontext)(uintptr_t)handle_make(HANDLE_CONTEXT, 0, CTX_PRIMARY);
    return c;
}

/* Everything that the context owns ends here; its variables start anew when they are next used.
 * Also when the daemon is gone: then only this side's books are closed. */
static void clear(struct context *c) {
    stream_drain();
    text_flush();
    image_release(c->index);
    event_release(c->index);
    stream_release(c->index);
    pool_release(c->index);
    mem_release(c->index);
    hostmem_release(c->index);
    cls_release(c->index);
}

static CUresult check_device(CUdevice dev) {
    return dev == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&ctx_lock);
    struct context *c = ctx_primary();
    if (c->refs++ == 0) start(c, CTX_PRIMARY, c->flags);
    *pctx = c->handle;
    pthread_mutex_unlock(&ctx_lock);
    return CUDA_SUCCESS;
}

static CUresult end_primary(bool whoever_uses_it) {
    struct context *c = ctx_primary();
    pthread_mutex_lock(&ctx_lock);
    uint32_t refs = c->refs;
    bool last = refs > 0 && (whoever_uses_it || refs == 1);
    c->refs = last || refs == 0 ? 0 : refs - 1;
    if (last) atom_store_release(&c->live, 0);
    pthread_mutex_unlock(&ctx_lock);
    if (last) clear(c);
    if (!refs && !whoever_uses_it) return CUDA_ERROR_INVALID_CONTEXT;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    return r ? r : end_primary(false);
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (!r) r = end_primary(true);
    if (!r) image_restore_managed();
    return r;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (r) return r;
    if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK) return CUDA_ERROR_INVALID_VALUE;
    ctx_primary()->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active) {
    CUresult r = state_ready();
    if (!r) r = check_device(dev);
    if (r) return r;
    if (flags) *flags = ctx_primary()->flags;
    if (active) *active = atom_load_relaxed(&ctx_primary()->live) != 0;
    return CUDA_SUCCESS;
}

static CUresult push(struct context *c) {
    struct ctx_thread *t = ctx_thread();
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    if (t->depth == CTX_DEPTH) return CUDA_ERROR_INVALID_VALUE;
    t->stack[t->depth++] = c;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev) {
    CUresult r = state_live();
    if (!r) r = check_device(dev);
    if (r) return r;
    if (!pctx || flags & ~(unsigned int)CU_CTX_FLAGS_MASK) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&ctx_lock);
    uint32_t index = CTX_PRIMARY + 1;
    while (index < CTX_MAX && contexts[index].handle)
        index++;
    if (index < CTX_MAX) start(&contexts[index], index, flags);
    pthread_mutex_unlock(&ctx_lock);
    if (index == CTX_MAX) return CUDA_ERROR_OUT_OF_MEMORY;
    *pctx = contexts[index].handle;
    return push(&contexts[index]);
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
    if (!c || c->index == CTX_PRIMARY) return CUDA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&ctx_lock);
    bool mine = c->handle == ctx;
    if (mine) atom_store_release(&c->live, 0);
    pthread_mutex_unlock(&ctx_lock);
    if (!mine) return CUDA_ERROR_INVALID_CONTEXT;
    if (ctx_current() == c) ctx_self->depth--;
    clear(c);
    pthread_mutex_lock(&ctx_lock);
    c->generation++;
    c->handle = NULL;
    pthread_mutex_unlock(&ctx_lock);
    return CUDA_SUCCESS;
}

/* ---- the current context --------------------------------------------------------------------- */

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
    CUresult r = state_ready();
    if (r) return r;
    struct context *c = ctx ? ctx_find(ctx) : NULL;
    return c ? push(c) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx) {
    CUresult r = state_ready();
    if (r) return r;
    struct context *c = ctx_current();
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    if (pctx) *pctx = c->handle;
    ctx_self->depth--;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
    CUresult r = state_ready();
    if (r) return r;
    if (!ctx) {
        if (ctx_current()) ctx_self->depth--;
        return CUDA_SUCCESS;
    }
    struct context *c = ctx_find(ctx);
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    if (!ctx_current()) return push(c);
    ctx_self->stack[ctx_self->depth - 1] = c;
    return CUDA_SUCCESS;
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

/* The context that `ctx` means, or the error to give. */
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
    if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK) return CUDA_ERROR_INVALID_VALUE;
    c->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId) {
    struct context *c;
    CUresult r = mean(ctx, &c);
    if (r) return r;
    if (!ctxId) return CUDA_ERROR_INVALID_VALUE;
    *ctxId = c->id;
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
    if (!r) r = stream_drain();
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
    if (!r) r = push(c);
    if (r) return r;
    r = cuCtxSynchronize();
    ctx_self->depth--;
    return r;
}

/* ---- settings: kept and reported; the device has no use for them ----------------------------- */

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    CUresult r = ctx_enter();
    if (r) return r;
    if ((unsigned)limit >= CTX_LIMITS) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    ctx_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pvalue) return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)limit >= CTX_LIMITS) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *pvalue = ctx_current()->limits[limit];
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
    *pConfig = ctx_current()->banks;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    CUresult r = ctx_enter();
    if (r) return r;
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    ctx_current()->banks = config;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (leastPriority) *leastPriority = STREAM_PRIORITY_LEAST;
    if (greatestPriority) *greatestPriority = STREAM_PRIORITY_GREATEST;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void) {
    return ctx_enter();
}

/* There is one device, and it is no peer of its own. */
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
