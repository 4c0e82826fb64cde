/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that replaces descriptor 2 for a moment.
 */
#include "daemon/device/cuda/queue/cuda_assertion.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"

#define LOG_PATIENCE_MS 500 /* for the log's reader */

/* ---- the file -------------------------------------------------------------------------------- */

void cuda_assertion_open(struct assertion *a) {
    *a = (struct assertion){.fd = memfd_create("salus-assertion", MFD_CLOEXEC), .before = -1};
    if (a->fd >= 0 && fcntl(a->fd, F_SETFL, O_APPEND)) fdutil_close(&a->fd);
}

void cuda_assertion_close(struct assertion *a) {
    fdutil_close(&a->fd);
    free(a->text);
    *a = (struct assertion){.fd = -1, .before = -1};
}

void cuda_assertion_listen(struct assertion *a) {
    a->before = a->fd < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (a->before >= 0 && dup2(a->fd, STDERR_FILENO) < 0) fdutil_close(&a->before);
}

static void put_back(const char *text, size_t bytes) {
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    while (bytes > 0) {
        ssize_t n = write(STDERR_FILENO, text, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno != EAGAIN || poll(&p, 1, LOG_PATIENCE_MS) <= 0)) return;
        if (n < 0) continue;
        text += n;
        bytes -= (size_t)n;
    }
}

static size_t read_all(int fd, char *text, size_t room) {
    size_t bytes = 0;
    ssize_t n;
    while (bytes < room && (n = pread(fd, text + bytes, room - bytes, (off_t)bytes)) > 0)
        bytes += (size_t)n;
    return bytes;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_assertion(const char *line, size_t bytes) {
    static const char thread[] = ", thread: [", words[] = "] Assertion `";
    return line && memmem(line, bytes, thread, sizeof(thread) - 1) &&
           memmem(line, bytes, words, sizeof(words) - 1);
}

/* Length of a line with its end; text without an end is no line. */
static size_t line_at(const char *text, size_t bytes) {
    const char *end = bytes ? memchr(text, '\n', bytes) : NULL;
    return end ? (size_t)(end - text) + 1 : 0;
}

/* Filters the text in place. */
static size_t keep_lines(char *text, size_t bytes) {
    size_t kept = 0;
    for (size_t at = 0, n; (n = line_at(text + at, bytes - at)); at += n) {
        if (!is_assertion(text + at, n)) continue;
        memmove(text + kept, text + at, n);
        kept += n;
    }
    return kept;
}

static void read_file(struct assertion *a, size_t room) {
    char *text = realloc(a->text, a->bytes + room);
    if (!text) return;
    a->text = text;
    size_t bytes = read_all(a->fd, text + a->bytes, room);
    put_back(text + a->bytes, bytes);
    a->bytes += keep_lines(text + a->bytes, bytes);
}

void cuda_assertion_hear(struct assertion *a) {
    struct stat st;
    if (a->before < 0) return;
    fflush(stderr);
    dup2(a->before, STDERR_FILENO);
    fdutil_close(&a->before);
    if (fstat(a->fd, &st) || !st.st_size) return;
    read_file(a, (size_t)st.st_size);
    if (ftruncate(a->fd, 0)) fdutil_close(&a->fd); /* it would be read again */
}

void cuda_assertion_give(const struct assertion *a, const struct dev_space_ops *ops, void *arg) {
    for (size_t at = 0, n; (n = line_at(a->text + at, a->bytes - at)); at += n)
        ops->text(arg, 1, a->text + at, n);
}

int cuda_assertion_first(const struct assertion *a) {
    size_t n = a->bytes ? line_at(a->text, a->bytes) : 0;
    return n ? (int)n - 1 : 0;
}
