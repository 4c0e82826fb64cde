/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the .nv.info section of a kernel. With FUZZ_MUTANT it asserts something false: the
 * run must then fail, which shows that fuzzing finds and reports errors.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/image/nvinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct image_kernel k = {0};
    void *section = malloc(size ? size : 1);
    if (!section) return 0;
    if (size) memcpy(section, data, size);
    int err = nvinfo_kernel(&k, section, size);
    if (!err && k.max_threads > 1024) abort();
#ifdef FUZZ_MUTANT
    if (!err && k.param_count > 0) abort();
#endif
    for (uint32_t i = 0; !err && i < k.param_count; i++)
        if (k.params[i].offset > UINT16_MAX || k.params[i].bytes > UINT16_MAX) abort();
    free(k.params);
    free(section);
    return 0;
}
