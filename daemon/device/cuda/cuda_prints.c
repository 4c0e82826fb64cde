/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks for a name in what the driver would choose of an image. A name is looked for as bytes: to
 * be wrong about one that only contains it costs a little time and nothing else.
 */
#include "daemon/device/cuda/cuda_prints.h"

#include <string.h>

#include "daemon/device/cuda/cuda_code.h"

static const char name[] = "vprintf";

static bool names_it(void *arg, const void *code, size_t bytes) {
    (void)arg;
    return !code || memmem(code, bytes, name, sizeof(name) - 1) != NULL;
}

bool cuda_prints(const void *image, size_t bytes, uint32_t capability) {
    return cuda_code_any(image, bytes, capability, names_it, NULL);
}
