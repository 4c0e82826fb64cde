/* SPDX-License-Identifier: Apache-2.0
 *
 * Recognises NVIDIA's libraries by their file names. Most have a runtime linked in, so the library
 * itself calls the driver. For those that share the program's runtime, such as cuRAND, the caller
 * of that runtime is looked up. The runtime asks for some values once for all, under pthread_once;
 * its caller cannot be found then, and the answer is the device's own.
 */
#include "shim/device/caller.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stddef.h>
#include <string.h>

#include "common/atomics.h"
#include "proto/cuda/code_owner.h"
#include "shim/connection/state.h"

#define FRAMES_MAX 64   /* enough for our frames, the runtime's, and its caller's */
#define RUNTIMES_MAX 16 /* most runtimes in one process; further ones are not recognised */

static _Atomic(uint64_t) runtimes[RUNTIMES_MAX]; /* load addresses of their files; 0: none */

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

bool caller_is_library(const char *path) {
    return code_is_nvidias(path);
}

static bool is_runtime(const char *path) {
    return begins(name_of(path), "libcudart.so");
}

/* Returns the file that contains the address; "" when unknown. */
static const char *file_of(const void *address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Returns the file that called the shared runtime in which `caller` lies. */
static const char *behind_runtime(const void *caller) {
    void *frames[FRAMES_MAX];
    int n = backtrace(frames, FRAMES_MAX), i = 0;
    while (i < n && frames[i] != caller)
        i++;
    while (i < n && is_runtime(file_of(frames[i])))
        i++;
    return i < n ? file_of(frames[i]) : "";
}

static bool is_in_library(const void *caller) {
    int saved = errno;
    const char *file = file_of(caller);
    if (is_runtime(file)) file = behind_runtime(caller);
    errno = saved;
    return caller_is_library(file);
}

uint32_t caller_image_capability(const void *caller) {
    uint32_t capability = state.conn.device.library_capability;
    return capability && is_in_library(caller) ? capability : 0;
}

uint32_t caller_capability(const void *caller) {
    const struct wire_device *d = &state.conn.device;
    uint32_t capability = caller_image_capability(caller);
    return capability ? capability : d->cc_major * 10 + d->cc_minor;
}

/* ---- runtimes -------------------------------------------------------------------------------- */

static uint64_t base_of(const void *address) {
    Dl_info info;
    return dladdr(address, &info) ? (uint64_t)(uintptr_t)info.dli_fbase : 0;
}

void caller_note_runtime(const void *caller) {
    uint64_t base = base_of(caller);
    for (size_t i = 0; base && i < RUNTIMES_MAX; i++) {
        uint64_t there = 0;
        if (atom_cas(&runtimes[i], &there, base) || there == base) return;
    }
}

static bool is_noted(uint64_t base) {
    for (size_t i = 0; base && i < RUNTIMES_MAX; i++)
        if (atom_load_relaxed(&runtimes[i]) == base) return true;
    return false;
}

/* Decides by the first frame behind our own. Frames before ours belong to interceptors of C library
 * calls, such as a sanitizer. */
bool caller_is_runtime(void) {
    void *frames[FRAMES_MAX];
    int saved = errno, n = backtrace(frames, FRAMES_MAX), i = 0;
    uint64_t own = base_of((const void *)runtimes), base = own;
    while (i < n && base_of(frames[i]) != own)
        i++;
    while (i < n && base == own && !is_noted(base))
        base = base_of(frames[i++]);
    errno = saved;
    return is_noted(base);
}
