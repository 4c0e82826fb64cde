/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds fatbins and cubins for tests, so that the repository needs no binary files. The caller
 * owns the buffers; buf.failed reports failed growth.
 */
#ifndef TEST_LIB_IMAGE_BUILD_H
#define TEST_LIB_IMAGE_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

enum image_packing { IMAGE_PLAIN, IMAGE_LZ4, IMAGE_ZSTD };

struct image_entry {
    uint16_t kind; /* 1 PTX, 2 ELF */
    uint32_t target;
    uint64_t flags; /* flags besides those of the compression */
    enum image_packing packing;
    const void *data;
    size_t bytes;
};

/* Appends one fatbin with these entries. */
void image_build_fatbin(struct buf *out, const struct image_entry *entries, size_t count);

struct image_param {
    uint16_t ordinal, offset;
    uint32_t bytes;
    int large; /* written as attribute 0x45 */
};

struct image_build_kernel {
    const char *name;
    uint32_t regs, stack_bytes, shared_bytes, block[3]; /* block {0}: no launch bounds */
    uint16_t param_bytes;
    const struct image_param *params;
    size_t param_count;
    /* function: a device function, not a kernel; missing: not in this file */
    int function, missing;
};

struct image_build_var {
    const char *name;
    const void *init; /* NULL: in .bss (zeros) */
    uint32_t bytes;
    int constant, managed, relocated;
};

/* Appends a cubin for `target` with these kernels. */
void image_build_cubin(struct buf *out, uint32_t target, const struct image_build_kernel *kernels,
                       size_t count);
/* The same with variables. */
void image_build_cubin_vars(struct buf *out, uint32_t target,
                            const struct image_build_kernel *kernels, size_t count,
                            const struct image_build_var *vars, size_t var_count);

/* Appends the .nv.info section of one kernel, or of all of them (registers and stack). */
void image_build_kernel_info(struct buf *out, const struct image_build_kernel *k);
void image_build_info(struct buf *out, const struct image_build_kernel *kernels, size_t count);

#endif
