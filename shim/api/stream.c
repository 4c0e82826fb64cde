/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of streams and the calls about them. What a stream has completed is a word in the
 * worker's page, so queries never leave the process.
 */
#include "shim/api/stream.h"

#include <pthread.h>

#include "proto/gen/prototypes.h"
#include "shim/api/ctx.h"
#include "shim/api/event.h"
#include "shim/connection/mark.h"
#include "shim/connection/submit.h"
#include "shim/connection/text.h"
#include "shim/connection/wait.h"
#include "shim/handle.h"
#include "shim/memory/pool.h"

static struct stream streams[WIRE_STREAMS] = {
    [STREAM_LEGACY] = {.handle = CU_STREAM_LEGACY},
};
static _Atomic uint32_t stream_limit = 1; /* ids from here on were never used */
static pthread_mutex_t stream_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- making and ending ----------------------------------------------------------------------- */

/* An id whose last owner's work is complete, or a new one; WIRE_STREAMS when there is none. */
static uint32_t free_id(void) {
    uint32_t limit = atom_load_relaxed(&stream_limit);
    for (uint32_t id = STREAM_LEGACY + 1; id < limit; id++) {
        if (!streams[id].handle && submit_done(id, submit_last(id))) return id;
    }
    return limit;
}

static CUresult create(struct context *owner, unsigned int flags, int priority, CUstream *out) {
    if (priority > STREAM_PRIORITY_LEAST) priority = STREAM_PRIORITY_LEAST;
    if (priority < STREAM_PRIORITY_GREATEST) priority = STREAM_PRIORITY_GREATEST;
    pthread_mutex_lock(&stream_lock);
    uint32_t id = free_id();
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    if (id < WIRE_STREAMS) {
        struct wire_stream_create rec = {
            .rec = {.op = WIRE_STREAM_CREATE, .stream = id},
            .flags = flags & CU_STREAM_NON_BLOCKING ? WIRE_STREAM_NONBLOCKING : 0,
            .priority = priority,
            .first_seq = submit_last(id) + 1,
        };
        r = submit_record(&rec, sizeof(rec), NULL, 0);
    }
    if (!r) {
        struct stream *s = &streams[id];
        s->id = id;
        s->flags = flags;
        s->priority = priority;
        s->owner = owner->index;
        s->handle = (CUstream)(uintptr_t)handle_make(HANDLE_STREAM, ++s->generation, id);
        if (id >= atom_load_relaxed(&stream_limit)) atom_store_release(&stream_limit, id + 1);
        *out = s->handle;
    }
    pthread_mutex_unlock(&stream_lock);
    return r;
}

/* With the lock held. */
static void destroy(struct stream *s) {
    struct wire_stream_destroy rec = {.rec = {.op = WIRE_STREAM_DESTROY, .stream = s->id}};
    s->handle = NULL;
    submit_record(&rec, sizeof(rec), NULL, 0);
}

void stream_close(CUstream handle) {
    uint32_t id = handle_index(HANDLE_STREAM, handle);
    if (id >= WIRE_STREAMS) return;
    pthread_mutex_lock(&stream_lock);
    if (streams[id].handle == handle) destroy(&streams[id]);
    pthread_mutex_unlock(&stream_lock);
}

void stream_release(uint32_t owner) {
    pthread_mutex_lock(&stream_lock);
    uint32_t limit = atom_load_relaxed(&stream_limit);
    for (uint32_t id = STREAM_LEGACY + 1; id < limit; id++) {
        if (streams[id].handle && streams[id].owner == owner) destroy(&streams[id]);
    }
    pthread_mutex_unlock(&stream_lock);
}

static struct stream *find_own(void) {
    struct ctx_thread *t = ctx_thread();
    struct context *c = ctx_current();
    if (!t || !c) return NULL;
    uint32_t id = handle_index(HANDLE_STREAM, t->own_stream);
    if (id < WIRE_STREAMS && streams[id].handle == t->own_stream) return &streams[id];
    if (create(c, CU_STREAM_DEFAULT, STREAM_PRIORITY_LEAST, &t->own_stream)) return NULL;
    return &streams[handle_index(HANDLE_STREAM, t->own_stream)];
}

struct stream *stream_find(CUstream handle) {
    if (handle == NULL || handle == CU_STREAM_LEGACY) return &streams[STREAM_LEGACY];
    if (handle == CU_STREAM_PER_THREAD) return find_own();
    uint32_t id = handle_index(HANDLE_STREAM, handle);
    if (id >= WIRE_STREAMS || streams[id].handle != handle) return NULL;
    return &streams[id];
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The legacy stream stands for itself and every stream that synchronises with it. */
static bool waits_for(const struct stream *s, uint32_t id) {
    if (s && s->id != STREAM_LEGACY) return s->id == id;
    if (!s || id == STREAM_LEGACY) return true;
    return !(streams[id].flags & CU_STREAM_NON_BLOCKING);
}

/* Every stream that `s` stands for; NULL: all. */
static CUresult wait_all(const struct stream *s) {
    uint32_t limit = atom_load_acquire(&stream_limit);
    uint32_t first = s && s->id != STREAM_LEGACY ? s->id : STREAM_LEGACY;
    if (first != STREAM_LEGACY) limit = first + 1;
    for (uint32_t id = first; id < limit; id++) {
        if (!waits_for(s, id)) continue;
        CUresult r = wait_stream(id, submit_last(id));
        if (r) return r;
    }
    return state_fault();
}

CUresult stream_wait(const struct stream *s) {
    CUresult r = wait_all(s);
    text_flush();
    return r;
}

CUresult stream_drain(void) {
    return wait_all(NULL);
}

bool stream_idle(const struct stream *s) {
    if (s && s->id != STREAM_LEGACY) return submit_done(s->id, submit_last(s->id));
    uint32_t limit = atom_load_acquire(&stream_limit);
    for (uint32_t id = STREAM_LEGACY; id < limit; id++) {
        if (waits_for(s, id) && !submit_done(id, submit_last(id))) return false;
    }
    return true;
}

/* ---- the calls ------------------------------------------------------------------------------- */

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!phStream || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    return create(ctx_current(), flags, priority, phStream);
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags) {
    return cuStreamCreateWithPriority(phStream, Flags, STREAM_PRIORITY_LEAST);
}

CUresult cuStreamDestroy_v2(CUstream hStream) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s || s->handle != hStream || s->id == STREAM_LEGACY) return CUDA_ERROR_INVALID_HANDLE;
    stream_close(hStream);
    return CUDA_SUCCESS;
}

/* The gate of every call about a stream. */
static CUresult enter(CUstream handle, struct stream **s) {
    CUresult r = ctx_enter();
    if (r) return r;
    *s = stream_find(handle);
    return *s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamQuery(CUstream hStream) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!stream_idle(s)) return wait_not_ready();
    text_flush();
    return state_fault();
}

CUresult cuStreamSynchronize(CUstream hStream) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    r = stream_wait(s);
    if (r) return r;
    pool_release_threshold();
    mark_idle();
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    uint32_t on;
    uint64_t seq;
    if (!event_point(hEvent, &on, &seq)) return CUDA_ERROR_INVALID_HANDLE;
    if (Flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (on == s->id || submit_done(on, seq)) return CUDA_SUCCESS;
    struct wire_stream_wait rec = {
        .rec = {.op = WIRE_STREAM_WAIT, .stream = s->id}, .on = on, .on_seq = seq};
    return submit_ordered(&rec, sizeof(rec), NULL, 0, NULL);
}

CUresult cuStreamGetPriority(CUstream hStream, int *priority) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = s->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int *flags) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = s->flags;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long *streamId) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!streamId) return CUDA_ERROR_INVALID_VALUE;
    /* Unlike the wire's id, never the same for two streams. */
    *streamId = (unsigned long long)s->generation * WIRE_STREAMS + s->id + 1;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice *device) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext *pctx) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    struct context *c = ctx_current();
    if (s->id != STREAM_LEGACY && s->owner != c->index) c = ctx_at(s->owner);
    *pctx = c->handle;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx) {
    CUresult r = cuStreamGetCtx(hStream, pCtx);
    if (!r && pGreenCtx) *pGreenCtx = NULL;
    return r;
}

/* Attributes steer caches and scheduling on a GPU; none changes a result. */
CUresult cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream) {
    struct stream *s;
    CUresult r = enter(dstStream, &s);
    return r ? r : enter(srcStream, &s);
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    *value = (CUstreamAttrValue){.pad = {0}};
    if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = s->priority;
    if (attr == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value->syncPolicy = CU_SYNC_POLICY_AUTO;
    return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                              const CUstreamAttrValue *param) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    return param ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
