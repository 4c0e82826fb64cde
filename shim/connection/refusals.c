/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the file for each line, because a program that closes unknown descriptors may use their
 * numbers for other files. Each line is one write, so that lines of several threads and processes
 * do not mix.
 */
#include "shim/connection/refusals.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "proto/wire/job.h"

#define LINE_BYTES 1024
#define NAME_MAX_SHOWN 400

static char *path; /* NULL: nothing is recorded */

static void find_path(void) {
    const char *value = secure_getenv(JOB_REFUSALS_VARIABLE);
    if (value && *value)
        path = strdup(value); /* copied, because the program may change its environment */
}

static const char *library_of(const void *address) {
    Dl_info info;
    if (!address || !dladdr(address, &info) || !info.dli_fname || !*info.dli_fname) return "-";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

void refusals_file(const void *address, char *name) {
    int before = errno;
    snprintf(name, REFUSALS_FILE_BYTES, "%s", library_of(address));
    errno = before;
}

/* Appends a field. Names come from programs, so control characters become blanks. */
static void append_field(char *line, size_t *n, const char *text, size_t bytes, char end) {
    size_t length = strnlen(text, bytes);
    for (size_t i = 0; i < length && *n < LINE_BYTES - 2; i++)
        line[(*n)++] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    if (*n < LINE_BYTES) line[(*n)++] = end;
}

static void append_line(const char *file, int flags, const char *line, size_t bytes) {
    int fd = open(file, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    if (fd < 0) return;
    ssize_t written = write(fd, line, bytes);
    (void)written; /* a failure cannot be reported to anyone */
    close(fd);
}

void refusals_note(const char *kind, const char *name, const void *caller, int err,
                   const char *reason, size_t reason_bytes) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Atomic uint32_t lines;
    int before = errno;
    pthread_once(&once, find_path);
    if (path && atom_load_relaxed(&lines) < REFUSALS_MAX) {
        char line[LINE_BYTES];
        size_t n = 0;
        atom_add(&lines, 1);
        append_field(line, &n, kind, SIZE_MAX, '\t');
        append_field(line, &n, *name ? name : "-", NAME_MAX_SHOWN,
                     '\t'); /* some programs look up "" */
        append_field(line, &n, library_of(caller), NAME_MAX_SHOWN, '\t');
        append_field(line, &n, err ? err_name(err) : "-", SIZE_MAX, '\t');
        append_field(line, &n, reason, reason_bytes, '\n');
        append_line(path, O_NOFOLLOW, line, n);
    }
    errno = before;
}

/* Appends through a link: the variable names a descriptor of the launcher below /proc. */
void refusals_tell(const char *reason, size_t reason_bytes) {
    const char *file = secure_getenv(JOB_REFUSED_VARIABLE);
    char line[LINE_BYTES];
    size_t n = 0;
    int before = errno;
    if (file && !strncmp(file, "/proc/", 6)) {
        append_field(line, &n, reason, reason_bytes, '\n');
        append_line(file, 0, line, n);
    }
    errno = before;
}
