/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory can be "executable" too, so the type of the file is checked as well.
 */
#include "daemon/broker/worker/worker_path.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_program(const char *path) {
    struct stat st;

    if (stat(path, &st) < 0) return -errno;
    if (S_ISDIR(st.st_mode)) return -EISDIR;
    if (!S_ISREG(st.st_mode)) return -EACCES;
    return access(path, X_OK) < 0 ? -errno : 0;
}

int worker_path_find(const struct config *config, char *out, size_t cap) {
    static const char *const places[] = {"salus-gpu", "../libexec/salus/salus-gpu"};
    char self[PATH_MAX];
    ssize_t n;

    if (*config->worker) {
        snprintf(out, cap, "%s", config->worker);
        return check_program(out);
    }
    snprintf(out, cap, "%s", places[0]);
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0) return -errno;
    self[n] = '\0';
    dirname(self);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(out, cap, "%s/%s", self, places[i]) >= (int)cap) return -ENAMETOOLONG;
        if (check_program(out) == 0) return 0;
    }
    return -ENOENT;
}
