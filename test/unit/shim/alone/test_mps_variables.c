/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment variables of MPS that are reported, each once.
 */
#include "shim/process/mps_variables.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

static char names[MPS_VARIABLES_BYTES];

static void begin(void) {
    clearenv();
    log_init("error");
}

TestSuite(mps_variables, .init = begin, .timeout = 60);

Test(mps_variables, those_that_would_change_something_are_named) {
    cr_assert_eq(mps_variables_find(names), 0);
    cr_assert_str_eq(names, "");
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25", 1);
    setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=2G", 1);
    cr_assert_eq(mps_variables_find(names), 2);
    cr_assert_str_eq(names,
                     "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2G");
}

Test(mps_variables, those_that_change_nothing_are_not) {
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100", 1);
    setenv("CUDA_MPS_CLIENT_PRIORITY", "0", 1);
    setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "", 1);
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/tmp/mps", 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", "/tmp/mps", 1);
    cr_assert_eq(mps_variables_find(names), 0);
}

Test(mps_variables, long_values_of_all_have_room) {
    char value[200];

    memset(value, '9', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", value, 1);
    setenv("CUDA_MPS_CLIENT_PRIORITY", value, 1);
    setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", value, 1);
    setenv("CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING", value, 1);
    setenv("CUDA_MPS_SM_PARTITION", value, 1);
    cr_assert_eq(mps_variables_find(names), 5);
    cr_assert_not_null(strstr(names, "CUDA_MPS_SM_PARTITION=999999999999999999999999"));
    cr_assert_lt(strlen(names), sizeof(names) - 1, "none is cut off");
}

Test(mps_variables, it_is_said_once) {
    char text[2048];
    int ends[2];
    ssize_t n;

    cr_assert_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    mps_variables_say();
    setenv("CUDA_MPS_CLIENT_PRIORITY", "1", 1);
    mps_variables_say();
    mps_variables_say();
    close(STDERR_FILENO);
    n = read(ends[0], text, sizeof(text) - 1);
    cr_assert_gt(n, 0);
    text[n] = '\0';
    cr_assert_not_null(strstr(text, "settings of MPS have no effect: CUDA_MPS_CLIENT_PRIORITY=1"),
                       "%s", text);
    cr_assert_eq(strchr(text, '\n'), text + n - 1, "one line: %s", text);
}
