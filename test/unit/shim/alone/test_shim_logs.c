/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's log as programs read it: callbacks, positions, and dumps into buffers that are large
 * enough or too small.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/gen/prototypes.h"
#include "shim/connection/logbook.h"

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
    bytes = 0;
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

static int numbers[300], count;

static void note(void *data, CUlogLevel level, char *message, size_t length) {
    cr_assert_eq(level, CU_LOG_LEVEL_WARNING);
    cr_assert_eq(strlen(message), length);
    numbers[count++] = atoi(strstr(message, "line ") + 5) + *(int *)data;
}

Test(shim_logs, callbacks_hear_each_line_once) {
    int zero = 0, thousand = 1000;
    logbook_add(CU_LOG_LEVEL_WARNING, "line %d", 0);
    cr_assert_eq(cuLogsRegisterCallback(note, &zero, NULL), CUDA_SUCCESS);
    logbook_add(CU_LOG_LEVEL_WARNING, "line %d", 1);
    logbook_deliver();
    logbook_deliver();
    cr_assert(count == 1 && numbers[0] == 1, "nothing from before it was registered");
    cr_assert_eq(cuLogsRegisterCallback(note, &thousand, NULL), CUDA_SUCCESS);
    logbook_add(CU_LOG_LEVEL_WARNING, "line %d", 2);
    logbook_deliver();
    cr_assert(count == 3 && numbers[1] == 2 && numbers[2] == 1002);
}

Test(shim_logs, dumps_have_what_fits_and_say_what_is_missing) {
    static char text[LOGBOOK_ENTRIES * LOGBOOK_LINE];
    CUlogIterator start, at;
    size_t bytes = sizeof(text);
    cr_assert_eq(cuLogsCurrent(&start, 0), CUDA_SUCCESS);
    for (int i = 0; i < 10; i++)
        logbook_add(CU_LOG_LEVEL_ERROR, "line %d", i);
    at = start;
    cr_assert_eq(cuLogsDumpToMemory(&at, text, &bytes, 0), CUDA_SUCCESS);
    cr_expect_eq(at, start + 10);
    cr_expect(bytes == strlen(text) && strstr(text, "line 0\n") && strstr(text, "line 9\n"));
    at = start;
    bytes = 150;
    cr_assert_eq(cuLogsDumpToMemory(&at, text, &bytes, 0), CUDA_SUCCESS);
    cr_expect(bytes < 150 && strstr(text, "did not fit") && strstr(text, "line 9\n"));
    cr_expect_null(strstr(text, "line 0\n"));
    for (int i = 10; i < 200; i++)
        logbook_add(CU_LOG_LEVEL_ERROR, "line %d and %0*d", i, 400, 0);
    at = start;
    bytes = sizeof(text);
    cr_assert_eq(cuLogsDumpToMemory(&at, text, &bytes, 0), CUDA_SUCCESS);
    cr_expect(strstr(text, "line 199 ") && !strstr(text, "line 99 "));
    cr_expect_not_null(strstr(text, "earlier lines of the log"));
}
