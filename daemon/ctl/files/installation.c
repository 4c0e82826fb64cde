/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches relative to this program's directory.
 */
#include "daemon/ctl/files/installation.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Finds `file` in the first of the places, which are relative to our own directory. */
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

/* Finds `file` in the directory that a variable names instead. */
static int look_in(const char *dir, const char *file, char *out, size_t cap) {
    char probe[PATH_MAX];

    snprintf(probe, sizeof(probe), "%s/%s", dir, file);
    snprintf(out, cap, "%s", dir);
    return access(probe, R_OK) == 0 ? 0 : -ENOENT;
}

static int find(const char *variable, const char *const *places, const char *file, char *out,
                size_t cap) {
    const char *dir = getenv(variable);

    return dir && *dir ? look_in(dir, file, out, cap) : look(places, file, out, cap);
}

static int append(int err, const char *tail, char *out, size_t cap) {
    size_t n = strlen(out);

    if (err) return err;
    return snprintf(out + n, cap - n, "%s", tail) < (int)(cap - n) ? 0 : -ENAMETOOLONG;
}

static const char *const libraries[] = {"shim", "../lib/salus", NULL};

int installation_library(char *out, size_t cap) {
    return find("SALUS_LIB_DIR", libraries, "libcuda.so.1", out, cap);
}

int installation_jit(char *out, size_t cap) {
    return append(find("SALUS_LIB_DIR", libraries, "libsalus-jit.so", out, cap), "/libsalus-jit.so",
                  out, cap);
}

int installation_daemon(char *out, size_t cap) {
    static const char *const places[] = {".", "../sbin", "../bin", NULL};

    return append(look(places, "salusd", out, cap), "/salusd", out, cap);
}

static const char *const programs[] = {".", "../libexec/salus", NULL};

int installation_ptxas(char *out, size_t cap) {
    return append(find("SALUS_LIBEXEC_DIR", programs, "salus-ptxas", out, cap), "/salus-ptxas", out,
                  cap);
}

int installation_cuda(char *out, size_t cap) {
    return append(find("SALUS_LIBEXEC_DIR", programs, "cuda/bin/ptxas", out, cap), "/cuda", out,
                  cap);
}

int installation_predict(const char *program, char *out, size_t cap) {
    char tail[64];

    snprintf(tail, sizeof(tail), "/%s", program);
    return append(find("SALUS_LIBEXEC_DIR", programs, program, out, cap), tail, out, cap);
}
