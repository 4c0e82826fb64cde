/* SPDX-License-Identifier: Apache-2.0
 *
 * Ordered streams, events between them, and the engine that runs the streams' items: a thread, or
 * the test step by step.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/atomics.h"
#include "test/lib/driver/fake_state.h"

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

static uint64_t random_below(uint64_t n) {
    fake.random = fake.random * 6364136223846793005ull + 1442695040888963407ull;
    return (fake.random >> 33) % n;
}

/* ---- effects of items ------------------------------------------------------------------------ */

static CUresult copy(const struct item *i) {
    for (uint64_t row = 0; row < i->rows; row++) {
        uint64_t dst = i->dst + row * i->dst_pitch, src = i->src + row * i->src_pitch;
        if (!fake_memory_reached(dst, i->width, true) || !fake_memory_reached(src, i->width, true))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        memmove(at(dst), at(src), i->width);
    }
    return CUDA_SUCCESS;
}

static CUresult fill(const struct item *i) {
    for (uint64_t row = 0; row < i->rows; row++) {
        uint64_t dst = i->dst + row * i->dst_pitch;
        if (!fake_memory_reached(dst, i->width * i->element, false))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        for (uint64_t e = 0; e < i->width; e++)
            memcpy(at(dst + e * i->element), &i->value, i->element);
    }
    return CUDA_SUCCESS;
}

static CUresult write_word(const struct item *i) {
    if (!fake_memory_reached(i->dst, 8, false)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    atom_store_release((_Atomic uint64_t *)at(i->dst), i->value);
    return CUDA_SUCCESS;
}

static uint64_t device_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
    return fake.clock_ns ? fake.clock_ns : ns + 3600000000000ull;
}

static CUresult execute(const struct item *i) {
    switch (i->kind) {
    case FAKE_COPY: return copy(i);
    case FAKE_FILL: return fill(i);
    case FAKE_WRITE: return write_word(i);
    case FAKE_LAUNCH: return i->kernel(i->params);
    case FAKE_RECORD:
        i->mark->reached = true;
        i->mark->ns = device_ns();
        return CUDA_SUCCESS;
    default: return CUDA_SUCCESS;
    }
}

static void let_go(struct mark *mark) {
    if (mark && --mark->holders == 0) free(mark);
}

static void drop_first(struct object *s) {
    struct item *i = s->first;
    s->first = i->next;
    if (!s->first) s->last = &s->first;
    let_go(i->mark);
    free(i);
}

static bool can_run(const struct object *s) {
    return s->kind == OBJECT_STREAM && s->first && !fake.fatal &&
           (s->first->kind != FAKE_WAIT || s->first->mark->reached);
}

static void run_first(struct object *s) {
    if (fake.ran_count < sizeof(fake.ran) / sizeof(fake.ran[0]))
        fake.ran[fake.ran_count++] =
            (struct fake_ran){s->first->kind, (uint32_t)s->index, s->priority,
                              s->owner ? s->owner->sms : 0, s->owner ? s->owner->id : 0};
    CUresult r = execute(s->first);
    if (r)
        fake.fatal = r;
    else
        drop_first(s);
    pthread_cond_broadcast(&fake.changed);
}

/* Chooses a stream that can run: the newest one, or a random one. */
static struct object *choose(void) {
    struct object *found = NULL;
    uint64_t count = 0;
    for (struct object *o = fake.objects; o; o = o->next) {
        if (!can_run(o)) continue;
        count++;
        if (!found || (fake.options.shuffle && random_below(count) == 0)) found = o;
    }
    return found;
}

/* ---- the engine ------------------------------------------------------------------------------ */

bool fake_stream_step(uint32_t index) {
    for (struct object *o = fake.objects; o; o = o->next) {
        if (o->kind != OBJECT_STREAM || (uint32_t)o->index != index || !can_run(o)) continue;
        run_first(o);
        return true;
    }
    return false;
}

void fake_stream_run(void) {
    for (struct object *s = choose(); s; s = choose())
        run_first(s);
}

static void nap(void) {
    struct timespec t = {.tv_nsec = (long)random_below(40) * 1000};
    pthread_mutex_unlock(&fake.lock);
    nanosleep(&t, NULL);
    pthread_mutex_lock(&fake.lock);
}

static void *engine_main(void *arg) {
    pthread_mutex_lock(&fake.lock);
    while (fake.running) {
        struct object *s = choose();
        if (s) run_first(s);
        if (s && fake.options.shuffle && random_below(4) == 0) nap();
        if (!s) pthread_cond_wait(&fake.changed, &fake.lock);
    }
    pthread_mutex_unlock(&fake.lock);
    return arg;
}

static void need_engine(void) {
    if (fake.options.stepping || fake.engine_runs) return;
    fake.running = true;
    fake.engine_runs = !pthread_create(&fake.engine, NULL, engine_main, NULL);
    if (!fake.engine_runs) abort();
}

void fake_stream_engine_stop(void) {
    pthread_mutex_lock(&fake.lock);
    bool runs = fake.engine_runs;
    fake.running = false;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    if (runs) pthread_join(fake.engine, NULL);
    fake.engine_runs = false;
}

/* Runs a stream's items and the items they depend on, and as little as possible of other
 * streams. */
static CUresult finish(const struct object *s) {
    while (s->first && !fake.fatal) {
        if (!fake.options.stepping)
            pthread_cond_wait(&fake.changed, &fake.lock);
        else if (!fake_stream_step((uint32_t)s->index))
            fake_stream_run();
    }
    return fake.fatal;
}

/* As observed on a GPU: one copy cannot span memory that was registered in two pieces. */
static bool in_two_pieces(uint64_t addr, uint64_t pitch, uint64_t rows, uint64_t row_bytes) {
    uint64_t bytes = rows ? (rows - 1) * pitch + row_bytes : 0;
    return bytes && fake_object_at(OBJECT_REGISTRATION, addr, 1) &&
           !fake_object_at(OBJECT_REGISTRATION, addr, bytes);
}

static bool takes_two_pieces(const struct item *i) {
    if (i->kind == FAKE_FILL)
        return in_two_pieces(i->dst, i->dst_pitch, i->rows, i->width * i->element);
    return i->kind == FAKE_COPY && (in_two_pieces(i->dst, i->dst_pitch, i->rows, i->width) ||
                                    in_two_pieces(i->src, i->src_pitch, i->rows, i->width));
}

CUresult fake_stream_add(CUstream stream, const struct item *model, const char *call) {
    struct object *s = fake_object(OBJECT_STREAM, stream);
    if (!s)
        return fake_misuse(CUDA_ERROR_INVALID_HANDLE, call,
                           "no stream of ours: all others would wait for it");
    if (takes_two_pieces(model))
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, "memory that was registered in pieces");
    struct item *i = malloc(sizeof(*i));
    if (!i) abort();
    *i = *model;
    i->next = NULL;
    *s->last = i;
    s->last = &i->next;
    pthread_cond_broadcast(&fake.changed);
    return CUDA_SUCCESS;
}

void fake_stream_forget(struct object *o) {
    while (o->first)
        drop_first(o);
    let_go(o->mark);
}

/* ---- streams --------------------------------------------------------------------------------- */

CUresult fake_stream_make(CUstream *out, struct object *green, unsigned int flags, int priority,
                          const char *call) {
    if (flags != CU_STREAM_NON_BLOCKING)
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, "one that others wait for");
    if (priority > 0 || priority < fake.options.greatest)
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, "a priority that there is not");
    struct object *o = fake_object_new(OBJECT_STREAM, 0, 0);
    o->owner = green;
    o->priority = priority;
    o->index = fake.stream_count++;
    *out = at(o->id);
    need_engine();
    return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority) {
    FAKE_CALL(true);
    return fake_stream_make(out, NULL, flags, priority, __func__);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_STREAM, stream);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no stream, or none any more");
    if (o->first) FAKE_MISUSE(CUDA_SUCCESS, "with work in it");
    fake_stream_forget(o);
    fake_object_free(o);
    return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream) {
    FAKE_CALL(true);
    const struct object *o = fake_object(OBJECT_STREAM, stream);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no stream, or none any more");
    return o->first ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
    FAKE_CALL(true);
    const struct object *o = fake_object(OBJECT_STREAM, stream);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no stream, or none any more");
    return finish(o);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value,
                                 unsigned int flags) {
    FAKE_CALL(true);
    if (addr % 8) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not aligned");
    struct item i = {.kind = FAKE_WRITE, .dst = addr, .value = value};
    return fake_stream_add(stream, &i, __func__);
}

/* ---- events ---------------------------------------------------------------------------------- */

CUresult cuEventCreate(CUevent *out, unsigned int flags) {
    FAKE_CALL(true);
    struct object *o = fake_object_new(OBJECT_EVENT, 0, 0);
    o->untimed = flags & CU_EVENT_DISABLE_TIMING;
    *out = at(o->id);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_EVENT, event);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no event, or none any more");
    fake_stream_forget(o);
    fake_object_free(o);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_EVENT, event);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no event, or none any more");
    if (!fake_object(OBJECT_STREAM, stream))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no stream, or none any more");
    struct mark *mark = calloc(1, sizeof(*mark));
    if (!mark) abort();
    mark->holders = 2;
    let_go(o->mark);
    o->mark = mark;
    struct item i = {.kind = FAKE_RECORD, .mark = mark};
    return fake_stream_add(stream, &i, __func__);
}

CUresult cuEventQuery(CUevent event) {
    FAKE_CALL(true);
    const struct object *o = fake_object(OBJECT_EVENT, event);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no event, or none any more");
    return !o->mark || o->mark->reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
    FAKE_CALL(true);
    const struct object *a = fake_object(OBJECT_EVENT, from), *b = fake_object(OBJECT_EVENT, to);
    if (!a || !b) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no event, or none any more");
    if (a->untimed || b->untimed || !a->mark || !b->mark)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "of one that has no time");
    if (!a->mark->reached || !b->mark->reached) return CUDA_ERROR_NOT_READY;
    *ms = (float)((double)(int64_t)(b->mark->ns - a->mark->ns) / 1e6);
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    FAKE_CALL(true);
    const struct object *o = fake_object(OBJECT_EVENT, event);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no event, or none any more");
    if (!o->mark) return FAKE_MISUSE(CUDA_SUCCESS, "for an event that was never recorded");
    if (!fake_object(OBJECT_STREAM, stream))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no stream, or none any more");
    struct item i = {.kind = FAKE_WAIT, .mark = o->mark};
    o->mark->holders++;
    return fake_stream_add(stream, &i, __func__);
}

/* ---- copies and fills ------------------------------------------------------------------------ */

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
    FAKE_CALL(true);
    struct item i = {.kind = FAKE_COPY, .dst = dst, .src = src, .width = bytes, .rows = 1};
    return fake_stream_add(stream, &i, __func__);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream) {
    FAKE_CALL(true);
    if (c->srcMemoryType != CU_MEMORYTYPE_UNIFIED || c->dstMemoryType != CU_MEMORYTYPE_UNIFIED)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not by address alone");
    if (c->srcPitch < c->WidthInBytes || c->dstPitch < c->WidthInBytes)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "rows lie in one another");
    struct item i = {.kind = FAKE_COPY,
                     .dst = c->dstDevice,
                     .src = c->srcDevice,
                     .width = c->WidthInBytes,
                     .rows = c->Height,
                     .dst_pitch = c->dstPitch,
                     .src_pitch = c->srcPitch};
    return fake_stream_add(stream, &i, __func__);
}

static CUresult add_fill(CUdeviceptr dst, size_t pitch, uint64_t value, uint32_t element,
                         size_t width, size_t rows, CUstream stream, const char *call) {
    if (dst % element || (rows > 1 && (pitch % element || pitch < width * element)))
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, "not aligned, or rows in one another");
    struct item i = {.kind = FAKE_FILL,
                     .dst = dst,
                     .value = value,
                     .element = element,
                     .width = width,
                     .rows = rows,
                     .dst_pitch = pitch};
    return fake_stream_add(stream, &i, call);
}

#define FILL(name, name2, type, element)                                                   \
    CUresult name(CUdeviceptr dst, type value, size_t n, CUstream stream) {                \
        FAKE_CALL(true);                                                                   \
        return add_fill(dst, 0, value, element, n, 1, stream, __func__);                   \
    }                                                                                      \
    CUresult name2(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height, \
                   CUstream stream) {                                                      \
        FAKE_CALL(true);                                                                   \
        return add_fill(dst, pitch, value, element, width, height, stream, __func__);      \
    }
FILL(cuMemsetD8Async, cuMemsetD2D8Async, unsigned char, 1)
FILL(cuMemsetD16Async, cuMemsetD2D16Async, unsigned short, 2)
FILL(cuMemsetD32Async, cuMemsetD2D32Async, unsigned int, 4)
