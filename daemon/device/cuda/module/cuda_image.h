/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's image as the driver takes it. One image is itself. Several fatbins, one behind the
 * other, are what the runtime registered of a program with separate compilation: the linked code,
 * then the relocatable code of each unit; the driver is given them in the runtime's own form. Where
 * the first of them is empty, nothing was linked yet: the driver's linker is given the units.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_IMAGE_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As the runtime of CUDA 13 has it in a program. */
struct cuda_wrapper {
    uint32_t magic, version;
    const void *code;
    const void *const *units; /* NULL-terminated */
};

struct cuda_image {
    void *bytes; /* a copy, with a NUL behind it */
    bool units;  /* `wrapper` is what the driver takes, not `bytes` */
    bool parts;  /* it has to link `list` first */
    struct cuda_wrapper wrapper;
    const void **list;
};

/* 0, -ENOMEM, or ERR_INVALID_IMAGE where lengths in it do not fit. */
int cuda_image_open(struct cuda_image *i, const void *image, size_t bytes);
void cuda_image_close(struct cuda_image *i);

#endif
