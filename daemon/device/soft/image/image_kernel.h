/* SPDX-License-Identifier: Apache-2.0
 *
 * What only machine code says about a kernel, for whoever runs its PTX, and about a variable, for
 * whoever runs nothing. Who made a list owns it; cubin_free and cubin_vars_free release it.
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

/* A variable of a module, as its cubin has it. Pointers in it are not relocated. */
struct image_var {
    char *name;
    unsigned char *init; /* its bytes; NULL: zeros */
    uint64_t bytes;
    bool managed;
};

#endif
