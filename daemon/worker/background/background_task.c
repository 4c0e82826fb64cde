/* SPDX-License-Identifier: Apache-2.0
 *
 * Two lines with a thread each.
 */
#include "daemon/worker/background/background_task.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"

/* Sanitizers replace the allocator but not malloc_trim. That call would then create a heap of its
 * own in several threads at once. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WITHOUT_A_HEAP
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WITHOUT_A_HEAP
#endif
#endif

static struct background_task *first_of(struct list *l) {
    struct background_task *e =
        list_empty(l) ? NULL : list_entry(l->next, struct background_task, link);
    if (e) list_remove(&e->link);
    return e;
}

/* ---- the lines' threads ---------------------------------------------------------------------- */

/* Called with the lock held. */
static void add_done(struct background_tasks *all, struct background_task *e) {
    uint64_t one = 1;
    list_append(&all->done, &e->link);
    atom_store_release(&all->any_done, true);
    if (!all->armed) return;
    all->armed = false;
    /* the counter is full, so the descriptor is readable already */
    if (write(all->event_fd, &one, sizeof(one)) < 0) return;
}

/* Called with the lock held; releases it while the task runs. */
static void run_one(struct background_tasks *all, struct background_task *e) {
    bool last = e->last; /* the task may be freed after `run` */
    pthread_mutex_unlock(&all->lock);
    e->run(e);
    pthread_mutex_lock(&all->lock);
    if (!last) add_done(all, e);
}

static void *run_line(void *arg) {
    struct background_thread *t = arg;
    struct background_tasks *all = t->all;
    pthread_mutex_lock(&all->lock);
    for (;;) {
        struct background_task *e = first_of(&t->waiting);
        if (e)
            run_one(all, e);
        else if (all->stopping)
            break;
        else
            pthread_cond_wait(&t->more, &all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* ---- calls of the worker's thread ------------------------------------------------------------ */

void background_give(struct background_tasks *all, struct background_task *e,
                     enum background_line line) {
    struct background_thread *t = &all->lines[line];
    all->away += !e->last;
    pthread_mutex_lock(&all->lock);
    list_init(&e->link);
    list_append(&t->waiting, &e->link);
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&all->lock);
}

/* Reading an image leaves a few used blocks among many free ones. The allocator returns none of
 * these by itself, and each line has an arena of its own. */
static void trim_heap(struct background_task *e) {
#ifndef WITHOUT_A_HEAP
    malloc_trim(0);
#endif
    free(e);
}

void background_trim(struct background_tasks *all) {
    for (int line = 0; line < BACKGROUND_LINES; line++) {
        struct background_task *e = calloc(1, sizeof(*e));
        if (!e) return; /* a later call tries again */
        *e = (struct background_task){.run = trim_heap, .last = true};
        background_give(all, e, line);
    }
}

static bool is_waiting(const struct background_tasks *all, const struct background_task *e) {
    const struct list *pos;
    for (int i = 0; i < BACKGROUND_LINES; i++)
        list_each(pos, &all->lines[i].waiting) if (pos == &e->link) return true;
    return false;
}

void background_cancel(struct background_tasks *all, struct background_task *e) {
    pthread_mutex_lock(&all->lock);
    if (is_waiting(all, e)) {
        list_remove(&e->link);
        add_done(all, e);
    }
    pthread_mutex_unlock(&all->lock);
}

/* Called with the lock held when no completed task is left: drains the event, so that it wakes no
 * sleeper for tasks that were taken. */
static void note_none_done(struct background_tasks *all) {
    uint64_t drained;
    atom_store_relaxed(&all->any_done, false);
    while (read(all->event_fd, &drained, sizeof(drained)) > 0)
        continue;
}

struct background_task *background_take(struct background_tasks *all) {
    if (!atom_load_acquire(&all->any_done)) return NULL;
    pthread_mutex_lock(&all->lock);
    struct background_task *e = first_of(&all->done);
    if (list_empty(&all->done)) note_none_done(all);
    pthread_mutex_unlock(&all->lock);
    all->away -= e != NULL;
    return e;
}

bool background_arm(struct background_tasks *all) {
    pthread_mutex_lock(&all->lock);
    all->armed = list_empty(&all->done);
    bool armed = all->armed;
    pthread_mutex_unlock(&all->lock);
    return armed;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static int start_line(struct background_thread *t) {
    int err = -pthread_create(&t->thread, NULL, run_line, t);
    t->started = !err;
    return err;
}

int background_start(struct background_tasks *all) {
    *all = (struct background_tasks){.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (all->event_fd < 0) return -errno;
    pthread_mutex_init(&all->lock, NULL);
    list_init(&all->done);
    for (int i = 0; i < BACKGROUND_LINES; i++) {
        all->lines[i].all = all;
        list_init(&all->lines[i].waiting);
        pthread_cond_init(&all->lines[i].more, NULL);
    }
    int err = 0;
    for (int i = 0; i < BACKGROUND_LINES && !err; i++)
        err = start_line(&all->lines[i]);
    if (err) background_stop(all);
    return err;
}

void background_stop(struct background_tasks *all) {
    pthread_mutex_lock(&all->lock);
    all->stopping = true;
    for (int i = 0; i < BACKGROUND_LINES; i++)
        pthread_cond_signal(&all->lines[i].more);
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i < BACKGROUND_LINES; i++) {
        if (all->lines[i].started) pthread_join(all->lines[i].thread, NULL);
        pthread_cond_destroy(&all->lines[i].more);
    }
    pthread_mutex_destroy(&all->lock);
    fdutil_close(&all->event_fd);
}
