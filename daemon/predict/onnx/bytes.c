/* SPDX-License-Identifier: Apache-2.0
 *
 * The file is read, not mapped: if another process truncates a mapped file, SIGBUS kills this
 * process.
 */
#include "daemon/predict/onnx/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the number of bytes read, at most `bytes`, or -1 with errno. */
static ssize_t read_all(int fd, unsigned char *out, size_t bytes) {
    size_t have = 0;

    while (have < bytes) {
        ssize_t n = read(fd, out + have, bytes - have);

        if (n == 0) break;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

static int read_open(int fd, size_t max, unsigned char **out, size_t *count,
                     struct complaint *why) {
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st)) return complaint_say(why, "%s", strerror(errno));
    if (S_ISDIR(st.st_mode)) return complaint_say(why, "this is a directory: give the file in it");
    if (!S_ISREG(st.st_mode)) return complaint_say(why, "this is not a regular file");
    if ((uintmax_t)st.st_size > max)
        return complaint_say(why, "the file has more than %zu MiB", max >> 20);
    *out = malloc((size_t)st.st_size + 1);
    if (!*out) return complaint_memory(why);
    n = read_all(fd, *out, (size_t)st.st_size);
    if (n < 0) {
        complaint_say(why, "%s", strerror(errno));
        free(*out);
        *out = NULL;
        return -EINVAL;
    }
    *count = (size_t)n;
    (*out)[n] = '\0'; /* lets readers treat the bytes as a string */
    return 0;
}

int bytes_read(const char *path, size_t max, unsigned char **out, size_t *count,
               struct complaint *why) {
    int err, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    *out = NULL;
    *count = 0;
    if (fd < 0) return complaint_say(why, "%s", strerror(errno));
    err = read_open(fd, max, out, count, why);
    close(fd);
    return err;
}
