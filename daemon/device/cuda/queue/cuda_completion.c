/* SPDX-License-Identifier: Apache-2.0
 *
 * Words that streams write or events that they reach, and the thread that checks them while the
 * worker sleeps.
 */
#include "daemon/device/cuda/queue/cuda_completion.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"

/* Interval of checks. It is shorter than the time to wake a sleeper, and long enough not to load a
 * core. */
#define WAITER_NAP_NS 20000
/* After this many checks the worker is woken, to ask the driver whether the context lives. */
#define WAITER_NAPS 500

struct word_page {
    struct word_page *next;
    struct word *words;
};

/* ---- words ----------------------------------------------------------------------------------- */

static int add_page(struct completions *c) {
    const struct driver *d = &c->context->driver;
    struct word_page *page = calloc(1, sizeof(*page));
    void *host = NULL;
    CUdeviceptr address = 0;
    if (!page) return -ENOMEM;
    int err = context_result(
        c->context, d->cuMemHostAlloc(&host, COMPLETION_WORDS * sizeof(struct word),
                                      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    if (!err) err = context_result(c->context, d->cuMemHostGetDevicePointer_v2(&address, host, 0));
    if (err) {
        if (host) d->cuMemFreeHost(host);
        free(page);
        return err;
    }
    *page = (struct word_page){.next = c->pages, .words = host};
    c->pages = page;
    for (uint32_t i = COMPLETION_WORDS; i-- > 0;) {
        struct word *w = &page->words[i];
        *w = (struct word){0};
        w->address = address + i * sizeof(*w) + offsetof(struct word, done);
        w->next_free = c->free;
        c->free = w;
    }
    return 0;
}

struct word *cuda_completion_take(struct completions *c) {
    if (!c->free && add_page(c)) return NULL;
    struct word *w = c->free;
    c->free = w->next_free;
    atom_store_relaxed(&w->done, 0);
    w->count = 0;
    return w;
}

void cuda_completion_give(struct completions *c, struct word *word) {
    word->next_free = c->free;
    c->free = word;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int record(struct completions *c, struct word *w, CUstream stream, uint64_t number) {
    const struct driver *d = &c->context->driver;
    if (!w->marks) w->marks = calloc(COMPLETION_MARKS, sizeof(*w->marks));
    if (!w->marks || w->count == COMPLETION_MARKS) return -ENOMEM;
    struct mark *m = &w->marks[(w->first + w->count) % COMPLETION_MARKS];
    int err = 0;
    if (!m->event)
        err = context_result(c->context, d->cuEventCreate(&m->event, CU_EVENT_DISABLE_TIMING));
    if (!err) err = context_result(c->context, d->cuEventRecord(m->event, stream));
    if (err) return err;
    m->number = number;
    w->count++;
    return 0;
}

int cuda_completion_sign(struct completions *c, struct word *w, CUstream stream, uint64_t number) {
    const struct driver *d = &c->context->driver;
    if (c->way == DEV_COMPLETION_EVENTS) return record(c, w, stream, number);
    return context_result(c->context, d->cuStreamWriteValue64_v2(stream, w->address, number, 0));
}

/* Any error except "not reached" is the context's end, which is handled elsewhere. */
static bool is_reached(struct completions *c, CUevent event) {
    CUresult r = c->context->driver.cuEventQuery(event);
    if (r != CUDA_ERROR_NOT_READY) context_result(c->context, r);
    return r == CUDA_SUCCESS;
}

uint64_t cuda_completion_look(struct completions *c, struct word *w) {
    while (w->count && is_reached(c, w->marks[w->first].event)) {
        atom_store_relaxed(&w->done, w->marks[w->first].number);
        w->first = (w->first + 1) % COMPLETION_MARKS;
        w->count--;
    }
    return atom_load_acquire(&w->done);
}

void cuda_completion_set(struct word *w, uint64_t number) {
    w->count = 0;
    atom_store_release(&w->done, number);
}

static void end_marks(struct completions *c, struct word *w) {
    for (uint32_t i = 0; w->marks && i < COMPLETION_MARKS; i++)
        if (w->marks[i].event)
            context_result(c->context, c->context->driver.cuEventDestroy_v2(w->marks[i].event));
    free(w->marks);
}

/* ---- the waiter ------------------------------------------------------------------------------ */

/* The worker is woken for a reached event, because it alone reads the events' progress. */
static bool changed(struct completions *c) {
    for (uint32_t i = 0; i < c->count; i++) {
        const struct word *w = c->watched[i];
        if (atom_load_relaxed(&w->done) != c->seen[i]) return true;
        if (w->watched && is_reached(c, w->watched)) return true;
    }
    return false;
}

static void ring(struct completions *c) {
    uint64_t one = 1;
    c->armed = false;
    /* the counter is full, so the descriptor is readable already */
    if (write(c->event_fd, &one, sizeof(one)) < 0) return;
}

/* Called with the lock held, which is released during naps. */
static void watch(struct completions *c) {
    uint64_t round = c->round;
    for (int naps = 0; c->armed && c->round == round && !c->stopping; naps++) {
        if (changed(c) || naps == WAITER_NAPS) {
            ring(c);
            return;
        }
        struct timespec nap = {.tv_nsec = WAITER_NAP_NS};
        pthread_mutex_unlock(&c->lock);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&c->lock);
    }
}

static void *waiter_main(void *arg) {
    struct completions *c = arg;
    context_enter(c->context);
    pthread_mutex_lock(&c->lock);
    while (!c->stopping) {
        if (c->armed)
            watch(c);
        else
            pthread_cond_wait(&c->wake, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void cuda_completion_arm(struct completions *c, struct word *const *words, const uint64_t *seen,
                         uint32_t count) {
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < count; i++)
        words[i]->watched = words[i]->count ? words[i]->marks[words[i]->first].event : NULL;
    c->watched = words;
    c->seen = seen;
    c->count = count;
    c->round++;
    c->armed = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

void cuda_completion_disarm(struct completions *c) {
    uint64_t drained;
    pthread_mutex_lock(&c->lock);
    c->armed = false;
    c->count = 0;
    pthread_mutex_unlock(&c->lock);
    while (read(c->event_fd, &drained, sizeof(drained)) > 0)
        continue;
}

int cuda_completion_open(struct completions *c, struct context *context, enum dev_completion way) {
    *c = (struct completions){
        .context = context, .way = way, .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    if (c->event_fd < 0) return -errno;
    int err = -pthread_create(&c->waiter, NULL, waiter_main, c);
    c->started = !err;
    return err;
}

void cuda_completion_close(struct completions *c) {
    if (c->started) {
        pthread_mutex_lock(&c->lock);
        c->stopping = true;
        pthread_cond_signal(&c->wake);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->waiter, NULL);
    }
    for (struct word_page *p = c->pages, *next; p; p = next) {
        next = p->next;
        for (uint32_t i = 0; i < COMPLETION_WORDS; i++)
            end_marks(c, &p->words[i]);
        c->context->driver.cuMemFreeHost(p->words);
        free(p);
    }
    fdutil_close(&c->event_fd);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->wake);
}
