/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/jit/original.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct original found;
static bool is_there;

static const struct {
    const char *name;
    size_t at;
} functions[] = {
    {"nvJitLinkCreate", offsetof(struct original, create)},
    {"nvJitLinkDestroy", offsetof(struct original, destroy)},
    {"nvJitLinkAddData", offsetof(struct original, add)},
    {"nvJitLinkComplete", offsetof(struct original, complete)},
    {"nvJitLinkGetLinkedPtxSize", offsetof(struct original, ptx_size)},
    {"nvJitLinkGetLinkedPtx", offsetof(struct original, ptx)},
    {"nvJitLinkGetErrorLogSize", offsetof(struct original, log_size)},
    {"nvJitLinkGetErrorLog", offsetof(struct original, log)},
    {"nvJitLinkVersion", offsetof(struct original, version)},
};

/* True when `library` has all of the functions. RTLD_NEXT means the libraries after this one. */
static bool take(void *library) {
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *f = dlsym(library, functions[i].name);
        if (!f) return false;
        memcpy((char *)&found + functions[i].at, &f, sizeof(f));
    }
    return true;
}

static bool open_one(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    if (take(library)) return true;
    dlclose(library);
    return false;
}

/* Opens the library next to NVRTC. Wheels have both in one folder, which is on no search path. */
static bool open_beside_nvrtc(const char *name) {
    char path[PATH_MAX];
    Dl_info nvrtc;
    void *version = dlsym(RTLD_DEFAULT, "nvrtcVersion");
    if (!version || !dladdr(version, &nvrtc) || !nvrtc.dli_fname) return false;
    const char *slash = strrchr(nvrtc.dli_fname, '/');
    if (!slash) return false;
    int n = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - nvrtc.dli_fname), nvrtc.dli_fname,
                     name);
    return n > 0 && (size_t)n < sizeof(path) && open_one(path);
}

static void look(void) {
    static const char *const names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};
    is_there = take(RTLD_NEXT);
    for (size_t i = 0; i < 2 && !is_there; i++)
        is_there = open_beside_nvrtc(names[i]);
    for (size_t i = 0; i < 2 && !is_there; i++)
        is_there = open_one(names[i]);
}

const struct original *original_find(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return is_there ? &found : NULL;
}
