/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks for a name in what the driver would choose of an image. A name is looked for as bytes: to
 * be wrong about one that only contains it costs a little time and nothing else.
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

/* Until both are known. */
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
