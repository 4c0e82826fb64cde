/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX of an image that says what the driver runs of it. The driver takes machine code where the
 * image has some for its GPU; then PTX says what that does only if it is for the same architecture:
 * sources may have another text for each.
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
    const char *text; /* in it */
    size_t bytes;
    bool compiled; /* the driver's kernels are made from it, not machine code of the image's */
};

/* 0; -ENOTSUP with `why` (>= 160 bytes): it is not known; -ENOMEM. */
int cuda_source_open(struct cuda_source *s, const struct context *c, const void *image,
                     size_t bytes, char *why, size_t why_bytes);
void cuda_source_close(struct cuda_source *s);

#endif
