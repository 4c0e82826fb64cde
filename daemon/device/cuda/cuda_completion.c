/* SPDX-License-Identifier: Apache-2.0
 *
 * Words that streams write, and the thread that looks at them for a sleeper.
 */
#include "daemon/device/cuda/cuda_completion.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"

/* How often it looks. Shorter than what a sleeper is woken in, longer than what costs a core. */
#define WAITER_NAP_NS 20000
/* It lets the worker look by itself, for calls of the driver that say whether the context lives. */
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
    return w;
}

void cuda_completion_give(struct completions *c, struct word *word) {
    word->next_free = c->free;
    c->free = word;
}

/* ---- the waiter ------------------------------------------------------------------------------ */

static bool changed(const struct completions *c) {
    for (uint32_t i = 0; i < c->count; i++)
        if (atom_load_relaxed(&c->watched[i]->done) != c->seen[i]) return true;
    return false;
}

static void ring(struct completions *c) {
    uint64_t one = 1;
    c->armed = false;
    if (write(c->event_fd, &one, sizeof(one)) < 0) return; /* full counter: readable already */
}

/* With the lock held, but for the naps. */
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

void cuda_completion_arm(struct completions *c, const struct word *const *words,
                         const uint64_t *seen, uint32_t count) {
    pthread_mutex_lock(&c->lock);
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

int cuda_completion_open(struct completions *c, struct context *context) {
    *c = (struct completions){.context = context,
                              .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
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
        c->context->driver.cuMemFreeHost(p->words);
        free(p);
    }
    fdutil_close(&c->event_fd);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->wake);
}
