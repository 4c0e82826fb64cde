/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads command lines from /proc, where that is mounted.
 */
#include "common/text/command_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/fdutil.h"

static int open_line(pid_t pid) {
    char path[40] = "/proc/self/cmdline";
    if (pid) snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

size_t command_line_read(pid_t pid, char *out, size_t cap) {
    int saved = errno, fd = open_line(pid);
    size_t bytes = 0;
    while (fd >= 0 && bytes < cap) {
        ssize_t n = read(fd, out + bytes, cap - bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        bytes += (size_t)n;
    }
    fdutil_close(&fd);
    errno = saved;
    return bytes;
}

void command_line_print(pid_t pid, char *out, size_t cap) {
    size_t bytes = command_line_read(pid, out, cap - 1);
    while (bytes && !out[bytes - 1])
        bytes--;
    out[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++)
        if (!out[i]) out[i] = ' ';
}
