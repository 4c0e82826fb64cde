/* SPDX-License-Identifier: Apache-2.0
 *
 * Pending host functions, and the thread that runs them.
 */
#include "shim/context/hostfunc.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/connection/submit.h"
#include "shim/connection/wait.h"
#include "shim/context/ctx.h"
#include "shim/lock.h"

struct pending {
    struct pending *next;
    uint64_t token;
    struct hostfunc what;
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

/* Removes the entry with this token, or for token 0 the first one; NULL when there is none. */
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

static void drop(struct pending *p) {
    if (p && p->what.owned) free(p->what.arg);
    free(p);
}

static void run(struct pending *p, CUresult r) {
    if (!p) return;
    if (p->what.callback)
        p->what.callback(p->what.stream, r, p->what.arg);
    else if (!r)
        p->what.function(p->what.arg); /* CUDA drops host functions after an error */
    drop(p);
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

/* Starts the thread, with all signals blocked: the program's handlers must not run on it. The
 * caller holds the lock. */
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

static void free_list(struct pending *p) {
    for (struct pending *next; p; p = next) {
        next = p->next;
        drop(p);
    }
}

/* Makes a list in the order of the functions, without tokens; NULL when out of memory. */
static struct pending *make_list(const struct hostfunc *functions, uint32_t count) {
    struct pending *first = NULL, **last = &first;
    for (uint32_t i = 0; i < count; i++) {
        struct pending *p = malloc(sizeof(*p));
        if (!p) {
            for (; i < count; i++)
                if (functions[i].owned) free(functions[i].arg);
            free_list(first);
            return NULL;
        }
        *p = (struct pending){.what = functions[i]};
        *last = p;
        last = &p->next;
    }
    return first;
}

CUresult hostfunc_expect(const struct hostfunc *functions, uint32_t count, uint64_t *first) {
    *first = 0;
    if (count == 0) return CUDA_SUCCESS;
    struct pending *list = make_list(functions, count);
    lock_enter(&callbacks.lock);
    bool running = list && start_thread();
    *first = callbacks.token + 1;
    for (struct pending *p = running ? list : NULL, *next; p; p = next) {
        next = p->next;
        p->token = ++callbacks.token;
        append(p);
    }
    pthread_cond_signal(&callbacks.sent);
    lock_leave(&callbacks.lock);
    if (!running) free_list(list);
    return running ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void hostfunc_forget(uint64_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        drop(take(first + i));
}
