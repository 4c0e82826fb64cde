/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the code in the argument of cuModuleLoadData: a fatbin (plain, LZ4 or zstd entries), a bare
 * cubin, or PTX text. Chooses the PTX to run and collects facts that only the cubin beside it has.
 * All input is hostile: lengths are checked before use, and no references to the input remain.
 *
 * Several fatbins may follow each other without a gap. A program built with -rdc=true has this
 * form: first the linked cubin's fatbin, then one for each unit. If the first contains usable PTX,
 * only that is taken; otherwise the PTX of all others, to be joined by ptx_link.
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
    struct image_kernel *kernels; /* from the best cubin beside the PTX; may be empty */
    uint32_t kernel_count;
    struct image_var *vars; /* variables of that cubin, if the module is only described */
    uint32_t var_count;
    uint32_t cubin_target; /* 0: no cubin */
};

/* A capability above all those that libraries know. No GPU has it, and it belongs to no family. */
#define IMAGE_BEYOND 130

/* Purpose of reading. IMAGE_RUN: the PTX will run. IMAGE_DESCRIBE: a cubin describes the module and
 * no code runs; PTX is only taken if there is no cubin. */
enum image_use { IMAGE_RUN, IMAGE_DESCRIBE };

/* Reads `image` and chooses the newest PTX not above the device's capability (90 for 9.0). Where a
 * GPU would run machine code, newer PTX of the same unit is chosen too. Returns 0 and a filled
 * `out` (freed by image_finish); ERR_INVALID_IMAGE, ERR_NO_BINARY (nothing usable) or -ENOMEM with
 * `why` filled. A cubin without PTX succeeds with ptx_count 0, so that its kernels can be
 * listed. */
int image_read(const void *image, size_t bytes, uint32_t capability, enum image_use use,
               struct image *out, char *why, size_t why_bytes);
void image_finish(struct image *image);

/* Returns the size of a bare ELF file or one fatbin, from its first `avail` readable bytes. Returns
 * 0 if it is neither, or if a fatbin is incomplete. */
size_t image_extent(const void *image, size_t avail);

#endif
