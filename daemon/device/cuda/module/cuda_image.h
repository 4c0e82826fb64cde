/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's image in the form that the driver takes. One image is passed unchanged. Several
 * fatbins, one behind the other, come from the runtime's registration of a program with separate
 * compilation: the linked code, then the relocatable code of each unit. The driver gets them in the
 * runtime's own form. If the first one is empty, nothing was linked yet: the driver's linker gets
 * the units.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_IMAGE_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The layout that the runtime of CUDA 13 has in a program. */
struct cuda_wrapper {
    uint32_t magic, version;
    const void *code;
    const void *const *units; /* NULL-terminated */
};

struct cuda_image {
    void *bytes; /* a NUL-terminated copy */
    bool units;  /* the driver takes `wrapper`, not `bytes` */
    bool parts;  /* the driver has to link `list` first */
    struct cuda_wrapper wrapper;
    const void **list;
};

/* 0, -ENOMEM, or ERR_INVALID_IMAGE when lengths in it are inconsistent. */
int cuda_image_open(struct cuda_image *i, const void *image, size_t bytes);
void cuda_image_close(struct cuda_image *i);

#endif
