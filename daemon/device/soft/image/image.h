/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the code in what cuModuleLoadData was given: a fatbin (plain, LZ4 or zstd entries), a bare
 * cubin, or PTX text; chooses the PTX to run and collects the facts that only the sibling cubin
 * has. Everything here reads hostile bytes: lengths are checked before use, nothing is kept by
 * reference.
 *
 * Several fatbins may follow each other without a gap: that is how a program built with -rdc=true
 * travels (first the linked cubin's, then one for each unit). When the first holds usable PTX, that
 * alone is taken; else the PTX of all the others, to be joined by ptx_link.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_IMAGE_H
#define DAEMON_DEVICE_SOFT_IMAGE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/image/image_kernel.h"

struct image {
    char **ptx; /* one for each unit to link (one, unless built with -rdc=true) */
    size_t *ptx_bytes;
    uint32_t ptx_count;           /* 0: machine code only */
    uint32_t ptx_target;          /* 75 for sm_75 */
    uint32_t ptx_above;           /* the lowest target of PTX above the capability; 0: none */
    struct image_kernel *kernels; /* from the best sibling cubin; may be empty */
    uint32_t kernel_count;
    struct image_var *vars; /* of that cubin, where it is described */
    uint32_t var_count;
    uint32_t cubin_target; /* 0: no cubin */
};

/* A capability that no GPU has, above all those that libraries know: no family has it. */
#define IMAGE_BEYOND 130

/* What it is read for: its PTX is run, or nothing of it: then a cubin describes it, and its PTX is
 * taken only where there is no cubin. */
enum image_use { IMAGE_RUN, IMAGE_DESCRIBE };

/* Reads `image`; the device's capability (90) bounds what is chosen: the newest PTX not above it. 0
 * and a filled `out` (image_finish frees); ERR_INVALID_IMAGE, ERR_NO_BINARY (nothing usable at all)
 * or -ENOMEM with `why` filled. A cubin without PTX succeeds with ptx_count 0, so that its kernels
 * can be named when they are asked for. */
int image_read(const void *image, size_t bytes, uint32_t capability, enum image_use use,
               struct image *out, char *why, size_t why_bytes);
void image_finish(struct image *image);

/* How many bytes a bare ELF or one fatbin spans, from its first `avail` readable bytes; 0: neither,
 * or (fatbin) not wholly there. */
size_t image_extent(const void *image, size_t avail);

#endif
