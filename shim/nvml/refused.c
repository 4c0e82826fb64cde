/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of NVML: each function exists, so that a lookup finds it, and returns that the device
 * does not support it. Functions newer than functions.def are not found.
 */
#include "shim/nvml/library.h"

/* Ignores all arguments. */
#define REFUSED(name)                            \
    NVML_API nvml_result name(void);             \
    nvml_result name(void) {                     \
        nvml_result r = library_enter(true);     \
        return r ? r : NVML_ERROR_NOT_SUPPORTED; \
    }
#define ANSWERED(name) _Static_assert(sizeof(&(name)), #name);

#include "shim/nvml/functions.def"
