/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of streams. The worker's page has a word with the position up to which each stream is
 * complete.
 */
#include "shim/context/stream.h"

#include <pthread.h>

#include "shim/connection/refuse.h"
#include "shim/connection/submit.h"
#include "shim/connection/text.h"
#include "shim/connection/wait.h"
#include "shim/context/ctx.h"
#include "shim/context/stamp.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/table.h"

#define PRIORITY_SINCE 9 /* first minor version of the protocol with WIRE_STREAM_PRIORITY */

static struct stream early[TABLE_BLOCK] = {
    [STREAM_LEGACY] = {.handle = CU_STREAM_LEGACY, .hint = STREAM_HINT_FIRST},
};
static struct table streams = {.bytes = sizeof(struct stream), .blocks = {(char *)early}};
static _Atomic uint32_t stream_limit = 1; /* ids from here on were never used */
static uint64_t last_serial;
static pthread_mutex_t stream_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- creation and destruction ---------------------------------------------------------------- */

static struct stream *nth(uint32_t id) {
    return table_at(&streams, id);
}

/* Streams whose ids are unused, the longest unused first. */
static struct list unused = {&unused, &unused};

/* Returns the stream that is unused for longest; NULL when there is none or its earlier work is not
 * complete. */
static struct stream *take_unused(void) {
    struct stream *s = list_entry(unused.next, struct stream, unused);
    if (list_empty(&unused) || s->busy || !submit_done(s->id, submit_last(s->id))) return NULL;
    list_remove(&s->unused);
    return s;
}

static struct stream *take_new(void) {
    uint32_t id = atom_load_relaxed(&stream_limit);
    if (id >= table_most(WIRE_STREAMS, WIRE_STREAMS_FIRST)) return NULL;
    struct stream *s = table_reach(&streams, id);
    if (!s) return NULL;
    s->id = id;
    atom_store_release(&stream_limit, id + 1);
    return s;
}

static struct stream *reserve(void) {
    lock_enter(&stream_lock);
    struct stream *s = take_unused();
    if (!s) s = take_new();
    if (s) s->busy = true;
    lock_leave(&stream_lock);
    if (!s) refuse_more(REFUSE_STREAMS, table_most(WIRE_STREAMS, WIRE_STREAMS_FIRST));
    return s;
}

CUresult stream_await(const struct stream *s, uint32_t on, uint64_t seq) {
    struct wire_stream_wait rec = {
        .rec = {.op = WIRE_STREAM_WAIT, .stream = s->id}, .on = on, .on_seq = seq};
    return on == s->id || submit_done(on, seq) ? CUDA_SUCCESS
                                               : submit_ordered(&rec, sizeof(rec), NULL, 0, NULL);
}

/* Makes a new stream wait for the position that every stream of its context waits for. */
static CUresult begin_late(const struct stream *s, const struct context *c) {
    struct stamp_point at = stamp_point(atom_load_acquire(&c->awaits));
    return at.seq ? stream_await(s, at.stream, at.seq) : CUDA_SUCCESS;
}

static int clamped(int priority) {
    const struct description *d = &state.conn.description;
    if (priority > d->least_priority) priority = d->least_priority;
    return priority < d->greatest_priority ? d->greatest_priority : priority;
}

CUresult stream_create(uint32_t owner, unsigned int flags, int priority, CUstream *out) {
    priority = clamped(priority);
    struct stream *s = reserve();
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t id = s->id;
    struct wire_stream_create rec = {
        .rec = {.op = WIRE_STREAM_CREATE, .stream = id},
        .flags = flags & CU_STREAM_NON_BLOCKING ? WIRE_STREAM_NONBLOCKING : 0,
        .priority = priority,
        .first_seq = submit_last(id) + 1,
    };
    CUresult r = submit_record(&rec, sizeof(rec), NULL, 0);
    lock_enter(&stream_lock);
    s->busy = false;
    if (r) list_append(&unused, &s->unused);
    if (!r) {
        s->serial = ++last_serial;
        s->flags = flags;
        s->priority = priority;
        s->owner = owner;
        s->green = NULL;
        s->sms = 0;
        s->hint = (struct stream_hint)STREAM_HINT_FIRST;
        s->handle = (CUstream)(uintptr_t)handle_make(HANDLE_STREAM, ++s->generation, id);
        *out = s->handle;
    }
    lock_leave(&stream_lock);
    return r ? r : begin_late(s, ctx_at(owner));
}

CUresult stream_share(struct stream *s, CUcontext green, uint32_t sms) {
    struct wire_stream_share rec = {.rec = {.op = WIRE_STREAM_SHARE, .stream = s->id}, .sms = sms};
    const struct context *c = ctx_find(green);
    s->green = green;
    s->sms = sms;
    CUresult r = submit_record(&rec, sizeof(rec), NULL, 0);
    return r || !c ? r : begin_late(s, c);
}

CUresult stream_prioritize(struct stream *s, int priority) {
    struct wire_stream_priority rec = {.rec = {.op = WIRE_STREAM_PRIORITY, .stream = s->id},
                                       .priority = clamped(priority)};
    if (s->priority == rec.priority) return CUDA_SUCCESS;
    s->priority = rec.priority;
    /* The queue of the default stream exists from the start; older workers do not know the record.
     */
    if (s->id == STREAM_LEGACY || state.conn.minor < PRIORITY_SINCE) return CUDA_SUCCESS;
    return submit_record(&rec, sizeof(rec), NULL, 0);
}

static bool is_of(const struct stream *s, const struct context *c) {
    if (!s->handle) return false;
    if (c->sms) return s->green == c->handle;
    return s->id == STREAM_LEGACY || s->owner == c->index;
}

struct stream *stream_of_context(const struct context *c, const struct stream *after) {
    uint32_t limit = atom_load_acquire(&stream_limit);
    for (uint32_t id = after ? after->id + 1 : STREAM_LEGACY; id < limit; id++)
        if (is_of(nth(id), c)) return nth(id);
    return NULL;
}

/* Makes the stream invisible; its id is not used again before the worker was told. The caller holds
 * the lock. */
static void retire(struct stream *s) {
    s->handle = NULL;
    s->busy = true;
}

static void close_lanes(struct stream *s) {
    for (uint32_t i = 0; i < WIRE_GRAPH_LANES - 1; i++) {
        if (s->lanes[i]) stream_close(s->lanes[i]);
        s->lanes[i] = NULL;
    }
}

static void tell_end(struct stream *s) {
    close_lanes(s);
    struct wire_stream_destroy rec = {.rec = {.op = WIRE_STREAM_DESTROY, .stream = s->id}};
    submit_record(&rec, sizeof(rec), NULL, 0);
    lock_enter(&stream_lock);
    s->busy = false;
    list_append(&unused, &s->unused);
    lock_leave(&stream_lock);
}

void stream_close(CUstream handle) {
    struct stream *s = nth(handle_index(HANDLE_STREAM, handle));
    if (!s) return;
    lock_enter(&stream_lock);
    bool ours = s->handle == handle;
    if (ours) retire(s);
    lock_leave(&stream_lock);
    if (ours) tell_end(s);
}

void stream_release(uint32_t owner) {
    if (owner == CTX_PRIMARY) {
        early[STREAM_LEGACY].hint = (struct stream_hint)STREAM_HINT_FIRST;
        early[STREAM_LEGACY].priority = STREAM_PRIORITY_LEAST;
    }
    uint32_t limit = atom_load_acquire(&stream_limit);
    for (uint32_t id = STREAM_LEGACY + 1; id < limit; id++) {
        struct stream *s = nth(id);
        lock_enter(&stream_lock);
        bool ours = s->handle && s->owner == owner;
        if (ours) retire(s);
        lock_leave(&stream_lock);
        if (ours) tell_end(s);
    }
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* True when the lane exists. Lanes of the legacy stream end with the primary context; that stream
 * itself does not. */
static bool lane_lives(const struct stream *s, uint32_t i) {
    const struct stream *lane = nth(handle_index(HANDLE_STREAM, s->lanes[i]));
    return s->lanes[i] && lane && lane->handle == s->lanes[i];
}

/* Creates a lane. When two threads find none, one of their streams is closed again. */
static CUresult make_lane(struct stream *s, uint32_t i) {
    CUstream made;
    CUresult r = stream_create(s->owner, CU_STREAM_NON_BLOCKING, s->priority, &made);
    if (r) return r;
    if (s->sms) stream_share(nth(handle_index(HANDLE_STREAM, made)), NULL, s->sms);
    lock_enter(&stream_lock);
    bool first = s->handle && !lane_lives(s, i);
    if (first) s->lanes[i] = made;
    bool there = s->lanes[i] != NULL;
    lock_leave(&stream_lock);
    if (!first) stream_close(made);
    return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult stream_lanes(struct stream *s, uint32_t count, uint32_t *ids) {
    ids[0] = s->id;
    for (uint32_t i = 1; i < count; i++) {
        CUresult r = lane_lives(s, i - 1) ? CUDA_SUCCESS : make_lane(s, i - 1);
        if (r) return r;
        ids[i] = handle_index(HANDLE_STREAM, s->lanes[i - 1]);
    }
    return CUDA_SUCCESS;
}

/* ---- a thread's default stream --------------------------------------------------------------- */

static __thread CUstream own_stream __attribute__((tls_model("initial-exec")));
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void close_own(void *handle) {
    if (state_ready() == CUDA_SUCCESS) stream_close(handle);
}

static void make_key(void) {
    pthread_key_create(&own_key, close_own);
}

static struct stream *find_own(void) {
    struct context *c = ctx_current();
    if (!c) return NULL;
    struct stream *own = nth(handle_index(HANDLE_STREAM, own_stream));
    if (own && own->handle == own_stream) return own;
    if (stream_create(c->index, CU_STREAM_DEFAULT, STREAM_PRIORITY_LEAST, &own_stream)) return NULL;
    pthread_once(&own_once, make_key);
    pthread_setspecific(own_key, own_stream);
    return nth(handle_index(HANDLE_STREAM, own_stream));
}

/* ---- lookup ---------------------------------------------------------------------------------- */

struct stream *stream_find(CUstream handle) {
    if (handle == NULL || handle == CU_STREAM_LEGACY) return &early[STREAM_LEGACY];
    if (handle == CU_STREAM_PER_THREAD) return find_own();
    struct stream *s = nth(handle_index(HANDLE_STREAM, handle));
    return s && s->handle == handle ? s : NULL;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* True when a wait for `s` includes stream `id`. The legacy stream stands for itself and every
 * stream that synchronises with it. */
static bool waits_for(const struct stream *s, uint32_t id) {
    if (s && s->id != STREAM_LEGACY) return s->id == id;
    if (!s || id == STREAM_LEGACY) return true;
    return !(nth(id)->flags & CU_STREAM_NON_BLOCKING);
}

/* Waits for every stream that `s` stands for; NULL: for all. */
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
