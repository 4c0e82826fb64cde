/* SPDX-License-Identifier: Apache-2.0
 *
 * Hides devices as a user would hide them. Runs before main(), while no other code reads the
 * environment.
 */
#include "shim/jit/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void native_hide(const char *program) {
    if (!strcmp(program, "__nvcc_device_query")) setenv("CUDA_VISIBLE_DEVICES", "", 1);
}

static __attribute__((constructor)) void loaded(void) {
    native_hide(program_invocation_short_name);
}
