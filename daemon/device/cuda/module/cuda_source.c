/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/cuda/module/cuda_source.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/device/soft/image/fatbin.h"

/* The GPU's compute capability: 90 for 9.0. */
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

/* True for one fatbin, or PTX: with several, the driver links code that only it knows. The fatbin
 * must not have code for one architecture or family alone (sm_90a), because other code with the
 * same number may differ. */
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

int cuda_source_open(struct cuda_source *s, const struct context *c, const void *image,
                     size_t bytes, char *why, size_t why_bytes) {
    uint32_t gpu = capability_of(c), target = code_target(image, bytes, gpu);
    *s = (struct cuda_source){.compiled = !target};
    if (!is_plain(image, bytes))
        return refuse(why, why_bytes,
                      "the driver does not report which code of the module's image it runs");
    int err = image_read(image, bytes, target ? target : gpu, IMAGE_RUN, &s->image, why, why_bytes);
    if (err) return err == -ENOMEM ? err : -ENOTSUP;
    uint32_t of = s->image.ptx_target;
    if (s->image.ptx_count == 1 && (target ? of == target : of <= gpu)) {
        s->text = s->image.ptx[0];
        s->bytes = s->image.ptx_bytes[0];
        return 0;
    }
    cuda_source_close(s);
    return refuse(why, why_bytes, "the module is machine code, without PTX for the same GPU");
}

void cuda_source_close(struct cuda_source *s) {
    image_finish(&s->image);
    *s = (struct cuda_source){0};
}
