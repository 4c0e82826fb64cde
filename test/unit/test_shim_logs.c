/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's log, which stays empty: programs that have callbacks for it, as Triton and PyTorch
 * have, are told nothing and hear nothing.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/gen/prototypes.h"

static void hear(void *data, CUlogLevel level, char *message, size_t length) {
    abort();
}

Test(shim_logs, callbacks_come_and_go) {
    CUlogsCallbackHandle handles[64], more;
    cr_assert_eq(cuLogsRegisterCallback(NULL, NULL, &more), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 64; i++) {
        cr_assert_eq(cuLogsRegisterCallback(hear, NULL, &handles[i]), CUDA_SUCCESS);
        for (int j = 0; j < i; j++)
            cr_assert_neq(handles[i], handles[j]);
    }
    cr_assert_eq(cuLogsRegisterCallback(hear, NULL, &more), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(cuLogsUnregisterCallback(handles[63]), CUDA_SUCCESS);
    cr_assert_eq(cuLogsUnregisterCallback(handles[63]), CUDA_ERROR_INVALID_VALUE, "once");
    cr_assert_eq(cuLogsUnregisterCallback(NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuLogsUnregisterCallback((CUlogsCallbackHandle)1000), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuLogsRegisterCallback(hear, NULL, NULL), CUDA_SUCCESS, "the handle is optional");
}

Test(shim_logs, there_is_nothing_in_it) {
    CUlogIterator at = 7;
    char text[8] = "old";
    size_t bytes = sizeof(text);
    cr_assert_eq(cuLogsCurrent(&at, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuLogsCurrent(&at, 0), CUDA_SUCCESS);
    cr_assert_eq(at, 0);
    cr_assert_eq(cuLogsDumpToMemory(&at, text, &bytes, 0), CUDA_SUCCESS);
    cr_assert(bytes == 0 && !*text);
    cr_assert_eq(cuLogsDumpToMemory(NULL, text, &bytes, 0), CUDA_ERROR_INVALID_VALUE, "no room");
}

Test(shim_logs, a_file_of_it_is_empty) {
    char path[] = "/tmp/salus-logs-XXXXXX";
    struct stat st;
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, "old", 3), 3);
    close(fd);
    cr_assert_eq(cuLogsDumpToFile(NULL, path, 0), CUDA_SUCCESS);
    cr_assert(stat(path, &st) == 0 && st.st_size == 0);
    unlink(path);
    cr_assert_eq(cuLogsDumpToFile(NULL, "/nonexistent/log", 0), CUDA_ERROR_INVALID_VALUE);
}
