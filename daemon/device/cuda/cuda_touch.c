/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver runs machine code where the image has some for its GPU. Its PTX says what that does
 * only if it is for the same architecture: sources may have another text for each.
 */
#include "daemon/device/cuda/cuda_touch.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/device/cuda/cuda_module.h"
#include "daemon/device/soft/image/fatbin.h"
#include "daemon/device/soft/image/image.h"
#include "daemon/device/touch/touch.h"

/* Of the GPU: 90 for 9.0. */
static uint32_t capability_of(const struct context *c) {
    int major = 0, minor = 0;
    c->driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, c->device);
    c->driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, c->device);
    return (uint32_t)(10 * major + minor);
}

/* The architecture of the machine code that the driver takes; 0: there is none. */
static uint32_t code_target(const void *image, size_t bytes, uint32_t capability) {
    struct fatbin f;
    struct fatbin_entry e;
    uint32_t target = 0;
    if (fatbin_open(&f, image, bytes)) return 0;
    while (fatbin_next(&f, &e) > 0)
        if (e.kind == FATBIN_ELF && e.target <= capability && e.target / 10 == capability / 10 &&
            e.target > target)
            target = e.target;
    return target;
}

/* One fatbin, or PTX; of several the driver links what only it knows. And without code for one
 * architecture or family alone (sm_90a), beside which code for the same number may be another. */
static bool is_plain(const void *image, size_t bytes) {
    struct fatbin f, next;
    struct fatbin_entry e;
    if (fatbin_open(&f, image, bytes)) return true;
    if (!fatbin_open(&next, (const unsigned char *)image + f.span, bytes - f.span)) return false;
    while (fatbin_next(&f, &e) > 0)
        if (e.kind == FATBIN_LTO || e.flags & (FATBIN_ARCH | FATBIN_FAMILY)) return false;
    return true;
}

static int refuse(char *why, size_t why_bytes, const char *text) {
    snprintf(why, why_bytes, "%s", text);
    return -ENOTSUP;
}

static int look(const struct image *i, const struct dev_launch *launch,
                int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                size_t why_bytes) {
    struct ptx_module *m = NULL;
    int err = ptx_parse(i->ptx[0], i->ptx_bytes[0], &m, why, why_bytes);
    if (err) return err == -ENOMEM ? err : -ENOTSUP;
    const struct ptx_func *f = ptx_find_func(m, launch->func->name);
    err = f && f->entry && f->defined ? touch_kernel(f, launch, see, arg, why, why_bytes)
                                      : refuse(why, why_bytes, "its PTX is not in its image");
    ptx_module_free(m);
    return err;
}

int cuda_touch_launch(const struct dev_launch *launch, const void *image, size_t bytes,
                      int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                      size_t why_bytes) {
    uint32_t gpu = capability_of(launch->func->module->context);
    uint32_t target = code_target(image, bytes, gpu);
    struct image i;
    if (!is_plain(image, bytes))
        return refuse(why, why_bytes, "which of its image's code the driver runs is not known");
    int err = image_read(image, bytes, target ? target : gpu, IMAGE_RUN, &i, why, why_bytes);
    if (err) return err == -ENOMEM ? err : -ENOTSUP;
    bool same = i.ptx_count == 1 && (target ? i.ptx_target == target : i.ptx_target <= gpu);
    err = same ? look(&i, launch, see, arg, why, why_bytes)
               : refuse(why, why_bytes, "it is machine code, without PTX for the same GPU");
    image_finish(&i);
    return err;
}
