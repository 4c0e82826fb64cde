/* SPDX-License-Identifier: Apache-2.0
 *
 * `run` puts our library into LD_PRELOAD and first into LD_LIBRARY_PATH. These checks find
 * libraries that would precede it, and those that programs get when they are started without `run`.
 */
#include "daemon/ctl/doctor/checks_library.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/ctl/files/installation.h"

#define LIBRARY "libcuda.so.1"

/* Directories where distributions, NVIDIA's installer, containers and WSL put the driver. */
static const char *const usual[] = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib64",      "/usr/lib",         "/usr/local/lib",
    "/usr/local/nvidia/lib64",   "/usr/lib/nvidia", "/usr/lib/wsl/lib", "/usr/local/cuda/compat",
};

/* The directory has a libcuda.so.1 that is not ours. `ours`: a real path, or empty. */
static bool is_foreign(const char *dir, size_t bytes, const char *ours, char *path, size_t cap) {
    char real[PATH_MAX];

    if (!bytes || snprintf(path, cap, "%.*s/" LIBRARY, (int)bytes, dir) >= (int)cap) return false;
    return realpath(path, real) && strcmp(real, ours) != 0;
}

static void look_in_usual(const char *ours, struct findings *f) {
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (!is_foreign(usual[i], strlen(usual[i]), ours, path, sizeof(path))) continue;
        findings_add(
            f, FINDINGS_WARNING, "driver",
            "start programs with 'salusctl run'; programs started without it load that library",
            "another libcuda.so.1 is installed: %.300s", path);
        return;
    }
}

static void look_in_path(const char *ours, struct findings *f) {
    const char *p = getenv("LD_LIBRARY_PATH");
    char path[PATH_MAX];

    for (; p && *p; p += strcspn(p, ":"), p += *p == ':') {
        if (!is_foreign(p, strcspn(p, ":"), ours, path, sizeof(path))) continue;
        findings_add(
            f, FINDINGS_OK, "driver", NULL,
            "LD_LIBRARY_PATH contains %.300s; 'salusctl run' puts Salus's library before it", path);
        return;
    }
}

/* Warns of a libcuda in LD_PRELOAD, which somebody put there on purpose. Libraries of
 * /etc/ld.so.preload come after those of LD_PRELOAD and are not checked. */
static void look_at_preload(struct findings *f) {
    const char *preload = getenv("LD_PRELOAD");

    if (preload && strstr(preload, "libcuda"))
        findings_add(
            f, FINDINGS_WARNING, "preload",
            "unset LD_PRELOAD unless you need it; 'salusctl run' loads Salus's library first",
            "LD_PRELOAD names a libcuda: %.300s", preload);
    if (access("/proc/driver/nvidia/version", R_OK) == 0)
        findings_add(f, FINDINGS_OK, "driver", NULL,
                     "NVIDIA's kernel driver is loaded; the software GPU does not use it");
}

void checks_library(struct findings *f) {
    char dir[PATH_MAX], path[PATH_MAX + 16], ours[PATH_MAX] = "";

    if (installation_library(dir, sizeof(dir)) < 0) {
        findings_add(f, FINDINGS_ERROR, "library",
                     "build it with 'make', or name its directory in SALUS_LIB_DIR",
                     "no " LIBRARY " of Salus in %.300s", dir);
    } else {
        snprintf(path, sizeof(path), "%s/" LIBRARY, dir);
        if (!realpath(path, ours)) ours[0] = '\0';
        if (strpbrk(dir, ": "))
            findings_add(
                f, FINDINGS_ERROR, "library",
                "move the installation, or set SALUS_LIB_DIR to a path without colon and blank",
                "the path %.300s contains a colon or a blank, which the dynamic linker does not "
                "accept",
                dir);
        else
            findings_add(f, FINDINGS_OK, "library", NULL, "%.300s", path);
    }
    look_in_usual(ours, f);
    look_in_path(ours, f);
    look_at_preload(f);
}
