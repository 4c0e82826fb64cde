/* SPDX-License-Identifier: Apache-2.0
 *
 * stderr is not made O_NONBLOCK: its file description is shared with other processes, and a
 * terminal's with the user's own programs.
 */
#include "common/log_writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IDLE_NS 1000000000u

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, ended;
    pthread_t thread;
    void (*idle)(void);
    size_t (*drops)(char *line, uint64_t count);
    char *bytes; /* ring of records; NULL: there is no thread */
    size_t start, used;
    uint64_t dropped; /* not reported yet */
    bool stop, done;
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool write_record(const char *record, size_t bytes) {
    ssize_t n;

    do {
        n = write(STDERR_FILENO, record, bytes);
        if (n < 0 && errno == EAGAIN) { /* another process made it non-blocking */
            struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

            poll(&p, 1, 1000);
        }
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    return n == (ssize_t)bytes;
}

/* Copies the oldest record out and returns its length. The record stays in the ring until it is
 * written. */
static size_t oldest(char *record) {
    size_t n = 0;

    do
        record[n] = writer.bytes[(writer.start + n) % LOG_WRITER_BUFFER_BYTES];
    while (record[n++] != '\n');
    return n;
}

/* Called with the lock, which is released while the record is written. */
static void write_oldest(void) {
    char record[LOG_WRITER_RECORD_BYTES];
    size_t n = oldest(record);
    bool written;

    pthread_mutex_unlock(&writer.lock);
    written = write_record(record, n);
    pthread_mutex_lock(&writer.lock);
    if (!written) writer.dropped++;
    writer.start = (writer.start + n) % LOG_WRITER_BUFFER_BYTES;
    writer.used -= n;
}

static void say_drops(void) {
    char line[LOG_WRITER_RECORD_BYTES];
    uint64_t count = writer.dropped;
    bool written;

    if (count == 0) return;
    pthread_mutex_unlock(&writer.lock);
    written = write_record(line, writer.drops(line, count));
    pthread_mutex_lock(&writer.lock);
    if (written) writer.dropped -= count;
}

static struct timespec after(uint64_t ns) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += (uint64_t)t.tv_nsec;
    t.tv_sec += (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    return t;
}

static void *run(void *arg) {
    struct timespec until;

    pthread_mutex_lock(&writer.lock);
    for (;;) {
        while (writer.used > 0)
            write_oldest();
        say_drops();
        if (writer.used > 0) continue;
        if (writer.stop) break;
        until = after(IDLE_NS);
        if (pthread_cond_timedwait(&writer.filled, &writer.lock, &until) != ETIMEDOUT) continue;
        pthread_mutex_unlock(&writer.lock);
        writer.idle();
        pthread_mutex_lock(&writer.lock);
    }
    writer.done = true;
    pthread_cond_signal(&writer.ended);
    pthread_mutex_unlock(&writer.lock);
    return NULL;
}

static int start_thread(void) {
    pthread_condattr_t monotonic;
    sigset_t all, before;
    int err;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&writer.filled, &monotonic);
    pthread_cond_init(&writer.ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* other threads handle signals */
    err = pthread_create(&writer.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

int log_writer_start(void (*idle)(void), size_t (*drops)(char *line, uint64_t count)) {
    char *bytes = malloc(LOG_WRITER_BUFFER_BYTES);
    int err;

    if (!bytes) return -ENOMEM;
    writer.idle = idle;
    writer.drops = drops;
    writer.bytes = bytes;
    err = start_thread();
    if (err == 0) return 0;
    writer.bytes = NULL;
    free(bytes);
    return err;
}

static void append(const char *record, size_t bytes) {
    size_t end = (writer.start + writer.used) % LOG_WRITER_BUFFER_BYTES;
    size_t first = LOG_WRITER_BUFFER_BYTES - end;

    if (first > bytes) first = bytes;
    memcpy(writer.bytes + end, record, first);
    memcpy(writer.bytes, record + first, bytes - first);
    writer.used += bytes;
}

bool log_writer_put(const char *record, size_t bytes) {
    bool there;

    pthread_mutex_lock(&writer.lock);
    there = writer.bytes != NULL;
    if (there && (writer.stop || LOG_WRITER_BUFFER_BYTES - writer.used < bytes)) {
        writer.dropped++;
    } else if (there) {
        append(record, bytes);
        pthread_cond_signal(&writer.filled);
    }
    pthread_mutex_unlock(&writer.lock);
    return there;
}

void log_writer_finish(uint64_t patience_ns) {
    struct timespec until = after(patience_ns);
    bool done = false, stopped;

    pthread_mutex_lock(&writer.lock);
    stopped = !writer.bytes || writer.stop;
    if (!stopped) {
        writer.stop = true;
        pthread_cond_signal(&writer.filled);
        while (!writer.done &&
               pthread_cond_timedwait(&writer.ended, &writer.lock, &until) != ETIMEDOUT)
            continue;
        done = writer.done;
    }
    pthread_mutex_unlock(&writer.lock);
    if (done) pthread_join(writer.thread, NULL);
}
