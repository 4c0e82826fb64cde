/* SPDX-License-Identifier: Apache-2.0
 *
 * A file in place of descriptor 1, and the thread that reads it. It is no pipe, because the driver
 * also writes when the worker's thread launches something, which must not wait for a reader.
 */
#include "daemon/device/cuda/driver/cuda_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"

#define TEXT_PIECE 8192
/* Interval at which output is taken that the driver writes while a kernel still runs. */
#define TEXT_NAP_NS 100000000

/* ---- output ---------------------------------------------------------------------------------- */

/* Length of the whole lines in a piece; a longer line is cut. A full receiver drops whole pieces.
 */
static size_t whole(const char *piece, size_t bytes) {
    const char *end = memrchr(piece, '\n', bytes);
    return end ? (size_t)(end - piece) + 1 : bytes;
}

static off_t size_of(const struct texts *t) {
    struct stat st;
    return fstat(t->fd, &st) ? t->taken : st.st_size;
}

/* Called with the lock held. */
static void drop_to(struct texts *t, off_t end) {
    if (end > t->taken)
        fallocate(t->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, t->taken, end - t->taken);
    t->taken = end;
}

/* Called with the lock held. */
static void hand_over(struct texts *t) {
    char piece[TEXT_PIECE];
    off_t end = size_of(t);
    for (off_t at = t->taken; at < end;) {
        size_t want = end - at < TEXT_PIECE ? (size_t)(end - at) : TEXT_PIECE;
        ssize_t n = pread(t->fd, piece, want, at);
        if (n <= 0) break;
        size_t bytes = whole(piece, (size_t)n);
        if (t->ops) t->ops->text(t->ops_arg, 0, piece, bytes);
        at += (off_t)bytes;
    }
    drop_to(t, end);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void ring(const struct texts *t) {
    uint64_t one = 1;
    /* the counter is full, so the descriptor is readable already */
    if (write(t->wake_fd, &one, sizeof(one)) < 0) return;
}

/* The kernels of the stream are complete, so this takes only as long as the writing; or the context
 * is lost, possibly because one of them never ends. */
static void make_it_write(struct context *c, CUstream stream) {
    const struct driver *d = &c->driver;
    context_enter(c);
    if (context_fatal(c) && d->cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) return;
    context_result(c, d->cuStreamSynchronize(stream));
}

/* Called with the lock held, which is released during long calls. */
static void flush_first(struct texts *t) {
    struct text_flush *f = t->first;
    pthread_mutex_unlock(&t->lock);
    make_it_write(t->context, f->stream);
    fflush(stdout);
    pthread_mutex_lock(&t->lock);
    hand_over(t);
    t->first = f->next;
    if (!t->first) t->last = &t->first;
    atom_store_release(&f->done, 1); /* the caller owns it again */
    ring(t);
    if (!t->first) pthread_cond_broadcast(&t->idle);
}

static void nap(struct texts *t) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TEXT_NAP_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_cond_timedwait(&t->wake, &t->lock, &until) == ETIMEDOUT && t->ops) hand_over(t);
}

static void *text_main(void *arg) {
    struct texts *t = arg;
    pthread_mutex_lock(&t->lock);
    while (!t->stopping) {
        if (t->first)
            flush_first(t);
        else if (t->ops)
            nap(t);
        else
            pthread_cond_wait(&t->wake, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static bool may_enter(const struct texts *t, const void *arg, const struct list *turn) {
    if (t->running && t->ops_arg != arg) return false;
    return list_empty(&t->turns) || t->turns.next == turn;
}

/* Output that came while no job's kernels ran belongs to no job. */
static void give_to(struct texts *t, const struct dev_space_ops *ops, void *arg) {
    pthread_mutex_lock(&t->lock);
    drop_to(t, size_of(t));
    t->ops = ops;
    t->ops_arg = arg;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

bool cuda_text_enter(struct texts *t, const struct dev_space_ops *ops, void *arg,
                     struct list *turn) {
    if (!may_enter(t, arg, turn)) {
        if (list_empty(turn)) list_append(&t->turns, turn);
        return false;
    }
    list_remove(turn);
    if (!t->running++) give_to(t, ops, arg);
    return true;
}

void cuda_text_leave(struct texts *t) {
    if (--t->running) return;
    pthread_mutex_lock(&t->lock);
    t->ops = NULL;
    t->ops_arg = NULL;
    pthread_mutex_unlock(&t->lock);
}

void cuda_text_ask(struct texts *t, struct text_flush *flush, CUstream stream) {
    flush->next = NULL;
    flush->stream = stream;
    atom_store_relaxed(&flush->done, 0);
    pthread_mutex_lock(&t->lock);
    *t->last = flush;
    t->last = &flush->next;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

void cuda_text_settle(struct texts *t) {
    pthread_mutex_lock(&t->lock);
    while (t->first)
        pthread_cond_wait(&t->idle, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Descriptor 1 may be closed before; then it is closed again afterwards. */
static int take_output(struct texts *t) {
    fflush(stdout);
    t->before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    t->fd = memfd_create("salus-kernel-output", MFD_CLOEXEC);
    if (t->fd < 0 || fcntl(t->fd, F_SETFL, O_APPEND)) return -errno;
    return dup2(t->fd, STDOUT_FILENO) < 0 ? -errno : 0;
}

int cuda_text_open(struct texts *t) {
    pthread_condattr_t monotonic;
    *t = (struct texts){.fd = -1, .before = -1};
    list_init(&t->turns);
    t->last = &t->first;
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &monotonic);
    pthread_cond_init(&t->idle, NULL);
    pthread_condattr_destroy(&monotonic);
    return take_output(t);
}

int cuda_text_start(struct texts *t, struct context *context, int wake_fd) {
    t->context = context;
    t->wake_fd = wake_fd;
    int err = -pthread_create(&t->thread, NULL, text_main, t);
    t->started = !err;
    return err;
}

static void give_output_back(struct texts *t) {
    if (t->fd < 0) return;
    fflush(stdout);
    if (t->before >= 0)
        dup2(t->before, STDOUT_FILENO);
    else
        close(STDOUT_FILENO);
    fdutil_close(&t->before);
    fdutil_close(&t->fd);
}

void cuda_text_stop(struct texts *t) {
    if (!t->started) return;
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    t->started = false;
}

void cuda_text_close(struct texts *t) {
    give_output_back(t);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->wake);
    pthread_cond_destroy(&t->idle);
}
