/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking around.
 */
#include "daemon/ctl/place.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first of the places, relative to our own directory, where `file` is. */
static int look(const char *const *places, const char *file, char *out, size_t cap) {
    char self[PATH_MAX], probe[2 * PATH_MAX], path[2 * PATH_MAX], real[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    size_t used = 0;

    if (n < 0) return -errno;
    self[n] = '\0';
    dirname(self);
    for (; *places; places++) {
        snprintf(path, sizeof(path), "%s/%s", self, *places);
        snprintf(probe, sizeof(probe), "%.*s/%s", PATH_MAX, path, file);
        if (access(probe, R_OK) == 0 && realpath(path, real)) {
            snprintf(out, cap, "%s", real);
            return strlen(real) < cap ? 0 : -ENAMETOOLONG;
        }
        if (used < cap)
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used ? ", " : "", path);
    }
    return -ENOENT;
}

int place_library(char *out, size_t cap) {
    static const char *const places[] = {"shim", "../lib/salus", NULL};
    const char *dir = getenv("SALUS_LIB_DIR");
    char probe[PATH_MAX];

    if (!dir || !*dir) return look(places, "libcuda.so.1", out, cap);
    snprintf(probe, sizeof(probe), "%s/libcuda.so.1", dir);
    snprintf(out, cap, "%s", dir);
    return access(probe, R_OK) == 0 ? 0 : -ENOENT;
}

int place_daemon(char *out, size_t cap) {
    static const char *const places[] = {".", "../sbin", "../bin", NULL};
    int rc = look(places, "salusd", out, cap);
    size_t n = strlen(out);

    if (rc == 0) snprintf(out + n, cap - n, "/salusd");
    return rc;
}
