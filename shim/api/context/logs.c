/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's own log of errors, which holds what was refused (connection/logbook.h). No call here
 * needs cuInit.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "proto/gen/prototypes.h"
#include "shim/connection/logbook.h"

static const char lost_line[] = "[CUDA] earlier lines of the log are lost\n";
static const char left_line[] = "[CUDA] earlier lines of the log did not fit into the buffer\n";

CUresult cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                CUlogsCallbackHandle *callback_out) {
    if (!callbackFunc) return CUDA_ERROR_INVALID_VALUE;
    uint32_t made = logbook_register(callbackFunc, userData);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    if (callback_out) *callback_out = (CUlogsCallbackHandle)(uintptr_t)made;
    return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
    uintptr_t number = (uintptr_t)callback;
    bool found = number <= LOGBOOK_CALLBACKS && logbook_unregister((uint32_t)number);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags) {
    if (!iterator_out || flags) return CUDA_ERROR_INVALID_VALUE;
    *iterator_out = logbook_next();
    return CUDA_SUCCESS;
}

/* Returns the first message of a dump. `lost`: the message at which the dump should begin was
 * overwritten. */
static uint32_t first_of(const CUlogIterator *iterator, bool *lost) {
    uint32_t oldest = logbook_oldest();
    *lost = iterator && *iterator < oldest;
    return !iterator || *lost ? oldest : *iterator;
}

static bool put(int fd, const char *text, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(fd, text, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_all(int fd, CUlogIterator *iterator) {
    char line[LOGBOOK_LINE];
    size_t bytes;
    bool lost;
    uint32_t at = first_of(iterator, &lost);
    bool good = !lost || put(fd, lost_line, sizeof(lost_line) - 1);
    for (; good && logbook_line(at, line, &bytes); at++)
        good = put(fd, line, bytes);
    if (iterator) *iterator = at;
    return good;
}

CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags) {
    int saved = errno, fd = -1;
    if (!pathToFile || flags) return CUDA_ERROR_INVALID_VALUE;
    fd = open(pathToFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = fd >= 0 && write_all(fd, iterator);
    if (fd >= 0) close(fd);
    errno = saved;
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Returns the first line from which all lines to `end` take at most `room` bytes; `bytes`: their
 * size. */
static uint32_t fitting(uint32_t first, uint32_t end, size_t room, size_t *bytes) {
    char line[LOGBOOK_LINE];
    size_t n;
    uint32_t at = end;
    for (*bytes = 0; at > first && logbook_line(at - 1, line, &n) && *bytes + n <= room; at--)
        *bytes += n;
    return at;
}

CUresult cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                            unsigned int flags) {
    if (!buffer || !size || !*size || flags) return CUDA_ERROR_INVALID_VALUE;
    bool lost;
    const char *head = lost_line;
    size_t bytes, room = *size - 1, used = 0;
    uint32_t end = logbook_next(), first = first_of(iterator, &lost);
    size_t head_bytes = lost ? sizeof(lost_line) - 1 : 0;
    uint32_t at = fitting(first, end, room < head_bytes ? 0 : room - head_bytes, &bytes);
    if (at > first) {
        head = left_line;
        head_bytes = sizeof(left_line) - 1;
        at = fitting(first, end, room < head_bytes ? 0 : room - head_bytes, &bytes);
    }
    *buffer = '\0';
    *size = 0;
    if (first < end && at == end)
        return CUDA_ERROR_INVALID_VALUE; /* not even the latest line fits */
    memcpy(buffer, head, head_bytes);
    used = head_bytes;
    for (char line[LOGBOOK_LINE]; at < end && logbook_line(at, line, &bytes); at++) {
        if (used + bytes > room) break; /* other threads wrote lines meanwhile */
        memcpy(buffer + used, line, bytes);
        used += bytes;
    }
    buffer[used] = '\0';
    *size = used;
    if (iterator) *iterator = end;
    return CUDA_SUCCESS;
}
