/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX of an image that describes the code that the driver runs. The driver takes machine code
 * where the image has some for its GPU. PTX describes that code only if it is for the same
 * architecture, because sources may have different text for each.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_SOURCE_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_SOURCE_H

#include <stdbool.h>

#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/soft/image/image.h"

struct cuda_source {
    struct image image;
    const char *text; /* text within the image */
    size_t bytes;
    bool compiled; /* the driver compiles its kernels from it, and takes no machine code of the
                      image */
};

/* 0; -ENOTSUP with `why` (>= 160 bytes): it is unknown; -ENOMEM. */
int cuda_source_open(struct cuda_source *s, const struct context *c, const void *image,
                     size_t bytes, char *why, size_t why_bytes);
void cuda_source_close(struct cuda_source *s);

#endif
