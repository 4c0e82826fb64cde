/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts that only machine code has about a kernel, for code that runs the kernel's PTX, and about a
 * variable, for code that runs nothing. The reader of a list owns it; cubin_free and
 * cubin_vars_free release it.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_IMAGE_KERNEL_H
#define DAEMON_DEVICE_SOFT_IMAGE_IMAGE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* A kernel as its cubin describes it (.nv.info, section sizes). */
struct image_kernel {
    char *name;
    uint32_t regs, shared_bytes, local_bytes, const_bytes, param_bytes, max_threads;
    struct {
        uint32_t offset, bytes;
    } * params;
    uint32_t param_count;
};

/* A variable of a module, from its cubin. Pointers in its contents are not relocated. */
struct image_var {
    char *name;
    unsigned char *init; /* contents; NULL: zeros */
    uint64_t bytes;
    bool managed;
};

#endif
