/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches the code that the driver would choose for a name, as bytes. A false match of a longer
 * name only costs a little time.
 */
#include "daemon/device/cuda/module/cuda_prints.h"

#include <string.h>

#include "daemon/device/cuda/module/cuda_code.h"

struct says {
    bool prints, asserts;
};

static bool names(const void *code, size_t bytes, const char *name) {
    return !code || memmem(code, bytes, name, strlen(name)) != NULL;
}

/* Searches until both are known. */
static bool look(void *arg, const void *code, size_t bytes) {
    struct says *s = arg;
    if (!s->prints) s->prints = names(code, bytes, "vprintf");
    if (!s->asserts) s->asserts = names(code, bytes, "__assertfail");
    return s->prints && s->asserts;
}

bool cuda_prints(const void *image, size_t bytes, uint32_t capability, bool *asserts) {
    struct says s = {false, false};
    cuda_code_any(image, bytes, capability, look, &s);
    *asserts = s.asserts;
    return s.prints;
}
