/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions in streams. The worker says when one is due by handing its token back; a thread of
 * this process, started with the first, runs it outside all locks and counts it as done in a word
 * that the worker watches. The stream waits meanwhile.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "proto/gen/prototypes.h"
#include "proto/wire.h"
#include "shim/connection/submit.h"
#include "shim/connection/wait.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/lock.h"

/* One host function on its way; `callback` or `function`. */
struct pending {
    struct pending *next;
    uint64_t token;
    CUhostFn function;
    CUstreamCallback callback;
    CUstream stream;
    void *arg;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t sent;
    struct pending *first, **last;
    uint64_t token;
    bool running; /* the thread exists */
} callbacks = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .sent = PTHREAD_COND_INITIALIZER, .last = &callbacks.first};

static void append(struct pending *p) {
    p->next = NULL;
    *callbacks.last = p;
    callbacks.last = &p->next;
}

/* The one with this token, or, for 0, the first; NULL when there is none. */
static struct pending *take(uint64_t token) {
    lock_enter(&callbacks.lock);
    struct pending **at = &callbacks.first;
    while (*at && token && (*at)->token != token)
        at = &(*at)->next;
    struct pending *p = *at;
    if (p) *at = p->next;
    if (p && !*at) callbacks.last = at;
    lock_leave(&callbacks.lock);
    return p;
}

static void run(struct pending *p, CUresult r) {
    if (!p) return;
    if (p->callback)
        p->callback(p->stream, r, p->arg);
    else if (!r)
        p->function(p->arg); /* CUDA drops these after an error */
    free(p);
}

static bool posted(const void *arg) {
    return atom_load_acquire(&state.conn.completion->callbacks_posted) != *(const uint64_t *)arg;
}

static void await_work(void) {
    lock_enter(&callbacks.lock);
    while (!callbacks.first)
        pthread_cond_wait(&callbacks.sent, &callbacks.lock);
    lock_leave(&callbacks.lock);
}

static void *loop(void *arg) {
    uint64_t done = 0;
    struct ctx_thread *t = ctx_thread();
    if (t) t->in_callback = true;
    for (;;) {
        await_work();
        CUresult r = wait_until(posted, &done);
        if (r) {
            run(take(0), r);
            continue;
        }
        run(take(state.conn.completion->callbacks[done % WIRE_CALLBACKS]), CUDA_SUCCESS);
        atom_store_release(&state.conn.submission->callbacks_done, ++done);
        submit_ring();
    }
    return NULL;
}

/* With the lock held. The program's signals are none of this thread's business. */
static bool start_thread(void) {
    sigset_t all, old;
    pthread_t thread;
    if (callbacks.running) return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    callbacks.running = pthread_create(&thread, NULL, loop, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (callbacks.running) pthread_detach(thread);
    return callbacks.running;
}

static CUresult send(struct pending *p) {
    struct wire_host_func rec = {.rec = {.op = WIRE_HOST_FUNC}, .token = p->token};
    CUresult r = ctx_enter();
    if (r) return r;
    const struct stream *s = stream_find(p->stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    rec.rec.stream = s->id;
    return submit_ordered(&rec, sizeof(rec), NULL, 0, NULL);
}

static CUresult enqueue(const struct pending *what) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct pending *p = malloc(sizeof(*p));
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    *p = *what;
    lock_enter(&callbacks.lock);
    bool running = start_thread();
    p->token = ++callbacks.token;
    /* In the list before it is sent: it can come back at once. */
    if (running) append(p);
    uint64_t token = p->token;
    pthread_cond_signal(&callbacks.sent);
    lock_leave(&callbacks.lock);
    if (!running) {
        free(p);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct pending copy = *what;
    copy.token = token;
    r = send(&copy);
    if (r) free(take(token));
    return r;
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData) {
    if (!fn) return CUDA_ERROR_INVALID_VALUE;
    struct pending p = {.function = fn, .stream = hStream, .arg = userData};
    return enqueue(&p);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                             unsigned int flags) {
    if (!callback || flags) return CUDA_ERROR_INVALID_VALUE;
    struct pending p = {.callback = callback, .stream = hStream, .arg = userData};
    return enqueue(&p);
}
