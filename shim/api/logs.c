/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's own log of errors: this driver has none (refusals go to standard error, and with
 * SALUS_REFUSALS to a file), so that callbacks are kept and never called. None of it needs cuInit.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/atomics.h"
#include "proto/gen/prototypes.h"

#define CALLBACKS 64

static _Atomic uint64_t registered; /* one bit a callback; its handle is the bit's number + 1 */

CUresult cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                CUlogsCallbackHandle *callback_out) {
    uint64_t used = atom_load_relaxed(&registered);
    if (!callbackFunc) return CUDA_ERROR_INVALID_VALUE;
    do {
        if (!~used) return CUDA_ERROR_OUT_OF_MEMORY;
    } while (!atom_cas(&registered, &used, used | (used + 1)));
    if (callback_out) *callback_out = (CUlogsCallbackHandle)(uintptr_t)(__builtin_ctzll(~used) + 1);
    return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
    uintptr_t number = (uintptr_t)callback - 1;
    uint64_t used = atom_load_relaxed(&registered);
    do {
        if (number >= CALLBACKS || !(used >> number & 1)) return CUDA_ERROR_INVALID_VALUE;
    } while (!atom_cas(&registered, &used, used & ~(1ull << number)));
    return CUDA_SUCCESS;
}

CUresult cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags) {
    if (!iterator_out || flags) return CUDA_ERROR_INVALID_VALUE;
    *iterator_out = 0;
    return CUDA_SUCCESS;
}

CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags) {
    int saved = errno, fd = -1;
    if (!pathToFile || flags) return CUDA_ERROR_INVALID_VALUE;
    fd = open(pathToFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0) close(fd);
    errno = saved;
    return fd < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                            unsigned int flags) {
    if (!buffer || !size || !*size || flags) return CUDA_ERROR_INVALID_VALUE;
    *buffer = '\0';
    *size = 0;
    return CUDA_SUCCESS;
}
