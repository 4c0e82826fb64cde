/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of NVML: each function is there, so that whoever looks it up finds it, and says that the
 * device has no such thing. What is newer than functions.def is not found.
 */
#include "shim/nvml/library.h"

/* Whatever its arguments are, they are not looked at. */
#define REFUSED(name)                            \
    NVML_API nvml_result name(void);             \
    nvml_result name(void) {                     \
        nvml_result r = library_enter(true);     \
        return r ? r : NVML_ERROR_NOT_SUPPORTED; \
    }
#define ANSWERED(name) _Static_assert(sizeof(&(name)), #name);

#include "shim/nvml/functions.def"
