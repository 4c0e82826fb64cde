/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/tool/place.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int look(const char *folder, const char *rest, const char *device, char *out, size_t cap) {
    int n = snprintf(out, cap, "%s%s/%s.json", folder, rest, device);

    return n > 0 && (size_t)n < cap && access(out, R_OK) == 0 ? 0 : -ENOENT;
}

int place_predictor(const char *device, char *out, size_t cap) {
    static const char *const places[] = {"/../../share/salus/predict", "/../share/salus/predict",
                                         "/../config/predict"};
    const char *named = getenv("SALUS_PREDICT_DIR");
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int err = -ENOENT;

    if (!*device || strchr(device, '/')) return -ENOENT;
    if (named && *named) return look(named, "", device, out, cap);
    if (n < 0) return -errno;
    self[n] = '\0';
    dirname(self);
    for (size_t i = 0; err && i < sizeof(places) / sizeof(places[0]); i++)
        err = look(self, places[i], device, out, cap);
    return err;
}
