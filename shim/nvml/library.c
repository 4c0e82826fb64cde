/* SPDX-License-Identifier: Apache-2.0
 *
 * Initialisation, and queries that need no device. The only state is a count, which a forked child
 * inherits.
 */
#include "shim/nvml/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "proto/cuda/cuda_abi.h"
#include "shim/nvml/view.h"

/* The first driver of the CUDA version that this driver reports: programs compare versions. */
#define DRIVER_VERSION "580.65.06"
#define LIBRARY_VERSION "13." DRIVER_VERSION

#define INIT_FLAGS 7u

static _Atomic uint32_t users; /* initialisations not yet undone */

nvml_result library_enter(bool arguments_given) {
    if (atom_load_relaxed(&users) == 0) return NVML_ERROR_UNINITIALIZED;
    return arguments_given ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvml_result library_give(const char *text, char *out, unsigned int length) {
    if (strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

/* ---- initialisation -------------------------------------------------------------------------- */

nvml_result nvmlInitWithFlags(unsigned int flags) {
    struct wire_view v;

    if (flags & ~INIT_FLAGS) return NVML_ERROR_INVALID_ARGUMENT;
    nvml_result r = view_ask(view_count() - 1, &v);
    if (r == NVML_SUCCESS) atom_add_relaxed(&users, 1);
    return r;
}

nvml_result nvmlInit_v2(void) {
    return nvmlInitWithFlags(0);
}

nvml_result nvmlInit(void) {
    return nvmlInitWithFlags(0);
}

nvml_result nvmlShutdown(void) {
    uint32_t n = atom_load_relaxed(&users);

    do {
        if (n == 0) return NVML_ERROR_UNINITIALIZED;
    } while (!atom_cas(&users, &n, n - 1));
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvml_result result) {
    switch (result) {
#define X(name, number, text) \
    case name: return text;
        NVML_RESULTS(X)
#undef X
    }
    return "Unknown Error";
}

/* ---- the system ------------------------------------------------------------------------------ */

nvml_result nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    nvml_result r = library_enter(version);
    return r ? r : library_give(DRIVER_VERSION, version, length);
}

nvml_result nvmlSystemGetNVMLVersion(char *version, unsigned int length) {
    nvml_result r = library_enter(version);
    return r ? r : library_give(LIBRARY_VERSION, version, length);
}

/* Works before initialisation. */
nvml_result nvmlSystemGetCudaDriverVersion_v2(int *version) {
    if (!version) return NVML_ERROR_INVALID_ARGUMENT;
    *version = CUDA_VERSION;
    return NVML_SUCCESS;
}

nvml_result nvmlSystemGetCudaDriverVersion(int *version) {
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

/* Returns the first word of the process's command line, as `ps` shows it; cut to the buffer. */
nvml_result nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length) {
    nvml_result r = library_enter(name && length);
    char path[32];
    int saved = errno;

    if (r) return r;
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, length - 1);
    fdutil_close(&fd);
    errno = saved;
    name[n > 0 ? n : 0] = '\0';
    return n > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
