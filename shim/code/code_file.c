/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads code from regular files only, up to the largest size of an image.
 */
#include "shim/code/code_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "shim/code/fatbin.h"

/* Returns NULL and -errno in `err` on failure. */
static void *read_whole(const char *name, size_t *bytes, int *err) {
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *data = NULL;
    *err = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
    if (!*err && (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FATBIN_BYTES_MAX)) *err = -EFBIG;
    if (!*err && !(data = calloc(1, (size_t)st.st_size + 64))) *err = -ENOMEM;
    *bytes = 0;
    while (!*err && *bytes < (size_t)st.st_size) {
        ssize_t n = read(fd, data + *bytes, (size_t)st.st_size - *bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) *err = -errno;
        if (n <= 0) break;
        *bytes += (size_t)n;
    }
    fdutil_close(&fd);
    if (!*err) return data;
    free(data);
    return NULL;
}

void *code_file_read(const char *name, size_t *bytes, CUresult *error) {
    int err, saved = errno;
    *error = CUDA_ERROR_INVALID_VALUE;
    if (!name) return NULL;
    void *data = read_whole(name, bytes, &err);
    errno = saved;
    *error = err == 0         ? CUDA_SUCCESS
             : err == -ENOENT ? CUDA_ERROR_FILE_NOT_FOUND
             : err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY
                              : CUDA_ERROR_INVALID_IMAGE;
    return data;
}
