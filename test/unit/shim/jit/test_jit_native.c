/* SPDX-License-Identifier: Apache-2.0
 *
 * The only program that is shown no devices: nvcc's query of the native architecture.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "shim/jit/native.h"

static void show(void) {
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
}

TestSuite(jit_native, .init = show, .timeout = 60);

Test(jit_native, nvcc_is_shown_no_device) {
    native_hide("__nvcc_device_query");
    cr_assert_str_eq(getenv("CUDA_VISIBLE_DEVICES"), "");
}

Test(jit_native, others_are_shown_theirs) {
    native_hide("nvcc");
    native_hide("query");
    native_hide("");
    cr_assert_str_eq(getenv("CUDA_VISIBLE_DEVICES"), "0");
}
