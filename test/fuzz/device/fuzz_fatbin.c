/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a module image: fatbin, cubin or PTX.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/device/cuda/module/cuda_prints.h"
#include "daemon/device/soft/image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

static void read_all(const struct image *m) {
    if (m->ptx_count == 0 && m->cubin_target == 0) abort();
    for (uint32_t i = 0; i < m->ptx_count; i++)
        if (strlen(m->ptx[i]) != m->ptx_bytes[i]) abort();
    for (uint32_t i = 0; i < m->kernel_count; i++) {
        sink = (unsigned char)strlen(m->kernels[i].name);
        for (uint32_t p = 0; p < m->kernels[i].param_count; p++)
            if (m->kernels[i].params[p].offset == UINT32_MAX) abort();
    }
}

static void read_vars(const struct image *m) {
    for (uint32_t i = 0; i < m->var_count; i++) {
        const struct image_var *v = &m->vars[i];
        sink = (unsigned char)strlen(v->name);
        if (v->bytes == 0) abort();
        if (v->init) sink = v->init[v->bytes - 1];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char why[160];
    struct image m;
    /* exact size, so that a read beyond it is detected */
    void *image = malloc(size ? size : 1);
    if (!image) return 0;
    if (size) memcpy(image, data, size);
    image_extent(image, size);
    bool asserts;
    cuda_prints(image, size, 90, &asserts);
    for (int use = IMAGE_RUN; use <= IMAGE_DESCRIBE; use++) {
        int err = image_read(image, size, 90, (enum image_use)use, &m, why, sizeof(why));
        if (err && !why[0]) abort();
        if (!err) read_all(&m);
        if (!err) read_vars(&m);
        image_finish(&m);
    }
    free(image);
    return 0;
}
