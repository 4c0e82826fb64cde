/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/cuda/module/cuda_touch.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/cuda/module/cuda_source.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/touch/touch.h"

static int look(const struct cuda_source *s, const struct dev_launch *launch,
                int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                size_t why_bytes) {
    struct ptx_module *m = NULL;
    int err = ptx_parse(s->text, s->bytes, &m, why, why_bytes);
    if (err) return err == -ENOMEM ? err : -ENOTSUP;
    const struct ptx_func *f = ptx_find_func(m, launch->func->name);
    if (f && f->entry && f->defined) {
        err = touch_kernel(f, launch, see, arg, why, why_bytes);
    } else {
        snprintf(why, why_bytes, "the module's image lacks its PTX");
        err = -ENOTSUP;
    }
    ptx_module_free(m);
    return err;
}

int cuda_touch_launch(const struct dev_launch *launch, const void *image, size_t bytes,
                      int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                      size_t why_bytes) {
    struct cuda_source s;
    int err = cuda_source_open(&s, launch->func->module->context, image, bytes, why, why_bytes);
    if (err) return err;
    err = look(&s, launch, see, arg, why, why_bytes);
    cuda_source_close(&s);
    return err;
}
